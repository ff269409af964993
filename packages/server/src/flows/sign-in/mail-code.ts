import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { mailCodeKey } from '../../lib/lock-keys.ts'
import { codeOfMail } from '../../lib/mail-code.ts'
import { randomText } from '../../lib/random.ts'
import type { LockRule } from '../../models/lockout.ts'
import type { SpendableToken } from '../../models/mail-token.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { clearFailures, countFailure } from '../../resources/lockouts/lockouts.ts'
import { getMailTokenOfCode } from '../../resources/mail/spend-mail-token.ts'
import type { TokenPurpose } from '../../resources/mail/token-purpose.ts'
import { countLoginRefusal, recording } from './attempt.ts'

const wrongCodes = 5
const withinMs = 10 * 60_000
const longestLockMs = 6 * 60 * 60_000

/** The secret that the code of a mail is made from. Only the one who asked for the mail gets it, sealed. */
export function newCodeKey(): string {
  return randomText(32)
}

/** The mail whose code is typed, and where. */
interface MailedCode {
  email: string
  codeKey: string
  purpose: TokenPurpose
  isKnownDevice: boolean
  app: { id: string }
}

/**
 * Checks the code of six digits from a mail, and returns the token of that mail. Wrong ones are counted for the address, whether
 * or not a user has it, however often a mail is sent again. Known devices share one separate count: a stranger cannot shut the
 * owner out, and the device token that each login brings gives no further tries. Each code is counted before it is compared, so
 * that of concurrent guesses no more than five are compared. Only the code of a mail that is still good ends the count.
 * Otherwise somebody with an old code could guess without end. A lock bars codes alone: the link in the same mail still works.
 * Known and unknown addresses run the same statements. Refusals are audited. Throws `account_locked`, `invalid_mail_code`, and
 * `invalid_token` for a mail that is used, replaced or too old.
 */
export async function passMailCode(
  deps: Deps<Pool>,
  { email, codeKey, purpose, isKnownDevice, app }: MailedCode,
  typed: string,
  actor: Actor,
): Promise<SpendableToken> {
  const [key] = deps.config.encryptionKeys
  const keys = [mailCodeKey(key, email, isKnownDevice)]
  const code = typed.replace(/[\s-]/g, '')
  const record = (error: ApiError) => countLoginRefusal(deps, error, { email, user: undefined, app }, actor)
  await recording(record, async () => {
    const { locks } = await countFailure(deps, { keys, userId: null }, ruleOf(deps))
    if (deps.config.encryptionKeys.some((key) => codeOfMail(key, codeKey) === code)) return
    const about = { appId: app.id, email, reason: 'invalid_mail_code', details: { email } }
    if (locks !== undefined) await recordEvent(deps, { event: 'user.locked', actor, ...about })
    throw new ApiError('invalid_mail_code')
  })
  const found = await getMailTokenOfCode(deps, codeKey, purpose)
  await transaction(deps, (deps) => clearFailures(deps, { barring: [], clear: keys }))
  return found
}

/** Like the lock of second factors, each lasts longer than the last. */
function ruleOf({ config, clock }: Deps): LockRule {
  const lockMs = Math.max(config.lockoutSeconds * 1000, withinMs)
  return { threshold: wrongCodes, lockMs, maxLockMs: Math.max(lockMs, longestLockMs), staleBefore: clock() - withinMs }
}
