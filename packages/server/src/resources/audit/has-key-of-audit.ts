import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { AuditChain } from '../../models/audit-chain.ts'
import { checkHead } from './keys-of-chain.ts'
import { beginChain, raisePositions } from './lock-chain.ts'

/**
 * Whether the key that seals the audit of this database is configured. The first server or command that asks decides the key of a
 * new database, before it writes anything: of several that start at once with different keys, one begins the seals. From then on,
 * servers that lack the key seal nothing, so they do not take events of those that have it for forged.
 */
export async function hasKeyOfAudit(deps: Deps<Pool>): Promise<boolean> {
  const chain = (await AuditChain.find(deps.db)) ?? (await transaction(deps, beginChain))
  const verdict = chain ? checkHead(deps, chain) : 'whole'
  // A forged end does not keep the service from starting: the sealer and audit verify report it.
  if (chain && verdict === 'whole') await transaction(deps, raisePositions)
  return verdict !== 'unknown key'
}
