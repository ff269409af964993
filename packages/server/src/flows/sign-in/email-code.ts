import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { codeOfMail } from '../../lib/codes.ts'
import { mailCodeKey } from '../../lib/lock-keys.ts'
import { randomText } from '../../lib/random.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import type { LockRule } from '../../models/lockout.ts'
import type { SpendableToken } from '../../models/mail-token.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { readCatalog } from '../../resources/catalog/catalog.ts'
import { clearFailures, countFailure } from '../../resources/lockouts/lockouts.ts'
import { getMailTokenOfCode, invalidToken, type TokenPurpose } from '../../resources/mail/mail-tokens.ts'
import { requestMail } from '../../resources/mail/request-mail.ts'
import { countLoginRefusal, recording } from './attempt.ts'
import { knownDeviceOf } from './login.ts'
import { enterByMail } from './magic-link.ts'
import type { ConsumeEmailCodeInput, EmailCodeInput } from './schema.ts'
import { openField, sealField } from './sealed-fields.ts'

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

/**
 * Queues a mail with a code and a magic link. Known and unknown addresses get the same kind of answer after the same statements.
 * The code works only with the `request_id` that is returned: a code that a stranger reads off a screen is worth nothing elsewhere.
 * Throws what `requestMail` throws.
 */
export async function requestEmailCode(deps: Deps<Pool>, input: EmailCodeInput, actor: Actor): Promise<string> {
  const codeKey = newCodeKey()
  const { app, isQueued } = await requestMail(deps, 'magic_link', input, actor, { codeKey })
  const before = openField(deps, 'email_code', '', input.request_id)
  const isSame = before?.email === input.email && before.appId === app.id
  if (!isQueued && isSame && input.request_id !== undefined) return input.request_id
  return sealField(deps, 'email_code', '', { email: input.email, appId: app.id, codeKey })
}

/**
 * Logs in with the code of a mail. The code is judged first, and counted for the address; from there on it is like the link of the
 * same mail. A failed attempt leaves the mail unspent. Throws `invalid_token` for a `request_id` that is not ours, what
 * `passMailCode` throws, and what `consumeMagicLink` throws.
 */
export async function consumeEmailCode(deps: Deps<Pool>, input: ConsumeEmailCodeInput, actor: Actor): Promise<TokenAnswer> {
  const asked = openField(deps, 'email_code', '', input.request_id)
  const app = asked && (await (await readCatalog(deps)).findApp({ id: asked.appId }))
  if (!asked || !app) throw invalidToken()
  const { email, codeKey } = asked
  const device = await knownDeviceOf(deps, { email, deviceToken: input.device_token }, app)
  const mail = { email, codeKey, purpose: 'magic_link', isKnownDevice: device !== undefined, app } as const
  const found = await passMailCode(deps, mail, input.code, actor)
  return (await enterByMail(deps, { found, method: 'email_code', input }, actor)).tokens
}
