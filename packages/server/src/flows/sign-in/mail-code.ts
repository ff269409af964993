import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { mailCodeKey } from '../../lib/lock-keys.ts'
import { codeOfMail } from '../../lib/mail-code.ts'
import { randomText } from '../../lib/random.ts'
import type { LockRule } from '../../models/lockout.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { clearFailures, countFailure } from '../../resources/lockouts/lockouts.ts'
import { countLoginRefusal, recording } from './attempt.ts'

const wrongCodes = 5
const withinMs = 10 * 60_000
const longestLockMs = 6 * 60 * 60_000

/** The secret that the code of a mail is made from. Only the one who asked for the mail gets it, sealed. */
export function newCodeKey(): string {
  return randomText(32)
}

/**
 * Checks the code of six digits from a mail. Wrong ones are counted for the address, whether or not a user has it, however often a
 * mail is sent again. Known devices share one separate count: a stranger cannot shut the owner out, and the device token that each
 * login brings gives no further tries. Each code is counted before it is compared, so that of concurrent guesses no more than five
 * are compared. A lock bars codes alone: the link in the same mail still works. Known and unknown addresses run the same
 * statements. Refusals are audited. Throws `account_locked`, `invalid_mail_code`.
 */
export async function passMailCode(
  deps: Deps<Pool>,
  { email, codeKey, isKnownDevice, app }: { email: string; codeKey: string; isKnownDevice: boolean; app: { id: string } },
  typed: string,
  actor: Actor,
): Promise<void> {
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
  await transaction(deps, (deps) => clearFailures(deps, { barring: [], clear: keys }))
}

/** Like the lock of second factors, each lasts longer than the last. */
function ruleOf({ config, clock }: Deps): LockRule {
  const lockMs = Math.max(config.lockoutSeconds * 1000, withinMs)
  return { threshold: wrongCodes, lockMs, maxLockMs: Math.max(lockMs, longestLockMs), staleBefore: clock() - withinMs }
}
