import { Statement } from '../../db/statement.ts'
import type { Deps } from '../../deps.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'

/** By the field of a body that holds the token: a refresh token, the token of a mail, the code of a third-party login. */
const statements = {
  refresh_token: new Statement<{ code: string }>(`
    select a.code from refresh_tokens t join sessions s on s.id = t.session_id join apps a on a.id = s.app_id
    where t.token_hash = :hash`),
  token: new Statement<{ code: string }>(
    'select a.code from mail_tokens t join apps a on a.id = t.app_id where t.token_hash = :hash',
  ),
  code: new Statement<{ code: string }>(
    'select a.code from sso_logins t join apps a on a.id = t.app_id where t.code_hash = :hash',
  ),
}

/** The code of the app that a token belongs to, alive or not; undefined for an unknown one and for one of no app. */
export async function findAppOfToken(deps: Deps, kind: keyof typeof statements, token: string): Promise<string | undefined> {
  return (await statements[kind].first(deps.db, { hash: hashOpaqueToken(token) }))?.code
}
