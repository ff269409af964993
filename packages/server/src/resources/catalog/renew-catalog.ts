import type { Deps } from '../../deps.ts'
import { newId } from '../../lib/uuid.ts'

/**
 * Ends the present generation of the catalog. Called by whoever changes apps, permissions or what roles hold: before the first such
 * write, so that nothing uncommitted is ever kept under a generation that others see, and after all other locks are taken.
 */
export async function renewCatalog(deps: Deps): Promise<void> {
  if (!deps.db.isTransaction) throw new Error('the catalog is renewed in the transaction that changes it')
  await deps.db('generations').where({ name: 'catalog' }).update({ generation: newId() })
}
