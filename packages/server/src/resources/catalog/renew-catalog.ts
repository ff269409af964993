import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { newId } from '../../lib/uuid.ts'
import { Generation } from '../../models/generation.ts'

/**
 * Ends the present generation of the catalog. Call it to change apps, permissions or what roles hold: before the first such
 * write, so that nothing uncommitted is ever kept under a generation that others see, and after all other locks are taken.
 */
export async function renewCatalog(deps: Deps<Tx>): Promise<void> {
  await Generation.renewCatalog(deps.db, newId())
}
