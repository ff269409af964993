import type { Deps } from '../../deps.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import { MailToken } from '../../models/mail-token.ts'
import { RefreshToken } from '../../models/refresh-token.ts'
import { SsoLogin } from '../../models/sso-login.ts'

/** By the field of a body that holds the token: a refresh token, the token of a mail, the code of a third-party login. */
const kinds = { refresh_token: RefreshToken, token: MailToken, code: SsoLogin }

/** The code of the app that a token belongs to, alive or not; undefined for an unknown one and for one of no app. */
export async function findAppOfToken(deps: Deps, kind: keyof typeof kinds, token: string): Promise<string | undefined> {
  return (await kinds[kind].findApp(deps.db, hashOpaqueToken(token)))?.code
}
