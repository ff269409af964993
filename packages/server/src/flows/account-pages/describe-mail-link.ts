import type { Deps } from '../../deps.ts'
import { matchesRedirectUrl } from '../../lib/redirect-url.ts'
import { getApp } from '../../resources/apps/get-app.ts'
import { getMailToken } from '../../resources/mail/spend-mail-token.ts'
import type { TokenPurpose } from '../../resources/mail/token-purpose.ts'
import { getUser } from '../../resources/users/get-user.ts'

const minuteMs = 60_000

/** What a page may show to the holder of a mail link. */
export interface MailLink {
  app: { name: string; code: string }
  /** Whether the account has a password, which proves whose it is. */
  asksPassword: boolean
  /** The address that the mail was sent to. */
  email: string
  /** The address that the account would get, if the mail asks for that at the present one. */
  newEmail: string | null
  /**
   * Where the user continues: the URL that the request for the mail named, if the app still allows it. Never taken from the link.
   */
  redirectUrl: string | null
  /** A whole number, at least 1. */
  minutesLeft: number
}

/** Reads a token without spending it. Throws `invalid_token`, whatever is wrong with it. */
export async function describeMailLink(deps: Deps, token: string, ...purposes: TokenPurpose[]): Promise<MailLink> {
  const found = await getMailToken(deps, token, ...purposes)
  const { email, new_email: newEmail, app_id: appId, redirect_url: asked, expires_at: expiresAt } = found
  const app = await getApp(deps, appId)
  const isAllowed = asked !== null && matchesRedirectUrl(asked, app.allowed_redirect_urls)
  const minutesLeft = Math.ceil((expiresAt - deps.clock()) / minuteMs)
  const asksPassword = (await getUser(deps, found.user_id)).password_hash !== null
  const named = { name: app.name, code: app.code }
  return { app: named, asksPassword, email, newEmail, redirectUrl: isAllowed ? asked : null, minutesLeft }
}
