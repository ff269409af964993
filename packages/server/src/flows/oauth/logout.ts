import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { hasAnswerMember, isExactRedirectUrl, withAnswer } from '../../lib/redirect-url.ts'
import type { App } from '../../models/app.ts'
import { readCatalog } from '../../resources/catalog/read-catalog.ts'
import { endBrowserSession, findBrowserSession } from '../../resources/sessions/browser-sessions.ts'

export interface LogoutRequest {
  client_id?: string | undefined
  post_logout_redirect_uri?: string | undefined
  state?: string | undefined
}

/** Where a person goes after signing out. Null without an app or a redirect URL that is good: then a page says that it is done. */
export async function readLogout(
  deps: Deps,
  { client_id: code, post_logout_redirect_uri: url, state }: LogoutRequest,
): Promise<{ app: App | undefined; location: string | null }> {
  const app = code === undefined ? undefined : await (await readCatalog(deps)).findApp({ code })
  const isGood =
    app !== undefined && url !== undefined && isExactRedirectUrl(url, app.allowed_redirect_urls) && !hasAnswerMember(url)
  return { app, location: isGood ? (state === undefined ? url : withAnswer(url, { state })) : null }
}

/** Signs a person out in this browser, and in the apps that they entered from it. */
export async function logOutBrowser(deps: Deps<Pool>, secret: string | undefined, actor: Actor): Promise<void> {
  const live = await findBrowserSession(deps, secret)
  if (!live) return
  const id = live.browser_session_id
  await transaction(deps, (deps) => endBrowserSession(deps, { id, reason: 'logout', withApps: true }, actor))
}
