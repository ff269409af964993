import type { Deps } from '../../deps.ts'
import { matchesRedirectUrl } from '../../lib/redirect-url.ts'
import { getApp } from '../../resources/apps/get-app.ts'
import { getMailToken } from '../../resources/mail/spend-mail-token.ts'
import type { TokenPurpose } from '../../resources/mail/token-purpose.ts'
import { getUser } from '../../resources/users/get-user.ts'

const minuteMs = 60_000

/** What a page may tell whoever holds the link of a mail. */
export interface MailLink {
  app: { name: string; code: string }
  /** Whether the app asks for a verified address, and the account has a password that shows whose it is. */
  asksPassword: boolean
  /** Where the mail went. */
  email: string
  /** Where the user goes on: what was asked for with the mail, while the app allows it. Never what the link itself says. */
  redirectUrl: string | null
  /** Whole, 1 at least. */
  minutesLeft: number
}

/** Looks at a token and leaves it as it is. Throws `invalid_token`, whatever is wrong with it. */
export async function describeMailLink(deps: Deps, token: string, purpose: TokenPurpose): Promise<MailLink> {
  const found = await getMailToken(deps, token, purpose)
  const { email, app_id: appId, redirect_url: asked, expires_at: expiresAt } = found
  const app = await getApp(deps, appId)
  const isAllowed = asked !== null && matchesRedirectUrl(asked, app.allowed_redirect_urls)
  const minutesLeft = Math.ceil((expiresAt - deps.clock()) / minuteMs)
  const asksPassword = app.require_verified_email && (await getUser(deps, found.user_id)).password_hash !== null
  const named = { name: app.name, code: app.code }
  return { app: named, asksPassword, email, redirectUrl: isAllowed ? asked : null, minutesLeft }
}
