import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { AuditChain } from '../../models/audit-chain.ts'
import { headFacts } from './keys-of-chain.ts'
import { beginChain } from './seal-events.ts'

/**
 * Whether the key that seals the audit of this database is configured. The first server or command that asks decides the key of a
 * new database, before it writes anything: of several that start at once with different keys, one begins the chain.
 */
export async function hasKeyOfAudit(deps: Deps<Pool>): Promise<boolean> {
  const chain = (await AuditChain.find(deps.db)) ?? (await transaction(deps, beginChain))
  return !chain || deps.auditProofs.checkSignature(chain.signature, headFacts(chain)) !== 'unknown key'
}
