import type { Deps } from '../../deps.ts'
import { keyedDigest } from '../../lib/keyed-digest.ts'

/** The per-account limit is keyed by a digest of the e-mail, whether or not anybody has it (contract 4.5 step 1). */
export function accountKey(deps: Deps, email: string): string {
  return `account:${keyedDigest(deps.config.encryptionKeys[0], 'account-limit', email)}`
}
