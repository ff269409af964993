import type { Deps } from '../../deps.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import { App } from '../../models/app.ts'
import { MailToken } from '../../models/mail-token.ts'
import { RefreshToken } from '../../models/refresh-token.ts'
import { SsoLogin } from '../../models/sso-login.ts'
import { openField } from './sealed-fields.ts'

/** The model for each body field that can hold a token: a refresh token, the token of a mail, the code of a third-party login. */
const kinds = { refresh_token: RefreshToken, token: MailToken, code: SsoLogin }

/**
 * The code of the app that a token belongs to, even if the token is dead. A `request_id` names the app for which a code was mailed.
 * Undefined if the token is unknown or has no app.
 */
export async function findAppOfToken(
  deps: Deps,
  kind: keyof typeof kinds | 'request_id',
  token: string,
): Promise<string | undefined> {
  if (kind !== 'request_id') return (await kinds[kind].findApp(deps.db, hashOpaqueToken(token)))?.code
  const asked = openField(deps, 'email_code', '', token)
  return asked && (await App.findById(deps.db, asked.appId))?.code
}
