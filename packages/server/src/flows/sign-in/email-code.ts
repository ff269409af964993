import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor, RequestOrigin } from '../../lib/caller.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import { App } from '../../models/app.ts'
import { requestMail } from '../../resources/mail/request-mail.ts'
import { invalidToken } from '../../resources/mail/spend-mail-token.ts'
import { enterByMail } from './consume-magic-link.ts'
import { knownDeviceOf } from './login.ts'
import { newCodeKey, passMailCode } from './mail-code.ts'
import type { ConsumeEmailCodeInput, EmailCodeInput } from './schema.ts'
import { openField, sealField } from './sealed-fields.ts'

/**
 * Queues a mail with a code and a magic link. Known and unknown addresses get the same kind of answer after the same statements.
 * The code works only with the `request_id` that is returned: a code that a stranger reads off a screen is worth nothing elsewhere.
 * Throws what `requestMail` throws.
 */
export async function requestEmailCode(deps: Deps<Pool>, input: EmailCodeInput, origin: RequestOrigin): Promise<string> {
  const codeKey = newCodeKey()
  const { app, isQueued } = await requestMail(deps, 'magic_link', input, origin, { codeKey })
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
  const app = asked && (await App.findById(deps.db, asked.appId))
  if (!asked || !app) throw invalidToken()
  const { email, codeKey } = asked
  const device = await knownDeviceOf(deps, { email, deviceToken: input.device_token }, app)
  const mail = { email, codeKey, purpose: 'magic_link', isKnownDevice: device !== undefined, app } as const
  const found = await passMailCode(deps, mail, input.code, actor)
  return (await enterByMail(deps, { found, method: 'email_code', input }, actor)).tokens
}
