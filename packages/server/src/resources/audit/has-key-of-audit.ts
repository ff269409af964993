import type { Deps } from '../../deps.ts'
import { AuditChain } from '../../models/audit-chain.ts'
import { headFacts } from './keys-of-chain.ts'

/** Whether the key that seals the audit of this database is configured. True if nothing is sealed yet. */
export async function hasKeyOfAudit({ db, auditProofs }: Deps): Promise<boolean> {
  const chain = await AuditChain.find(db)
  return !chain || auditProofs.checkSignature(chain.signature, headFacts(chain)) !== 'unknown key'
}
