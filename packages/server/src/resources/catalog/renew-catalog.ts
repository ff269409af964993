import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { newId } from '../../lib/uuid.ts'
import { Generation } from '../../models/generation.ts'

/**
 * Ends the current generation of the catalog. Call it when you change apps, permissions or what roles hold. Call it before the
 * first such write, so that no server caches uncommitted data under a generation that others see, and after you have taken all
 * other locks.
 */
export async function renewCatalog(deps: Deps<Tx>): Promise<void> {
  await Generation.renewCatalog(deps.db, newId())
}
