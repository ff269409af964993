import type { Deps } from '../../deps.ts'
import { describeMailLink, type MailLink } from './describe-mail-link.ts'

/**
 * Returns the URL at which a browser hands the token of a magic link to the app, which spends it
 * (`POST /auth/magic-link/consume`). The page spends nothing, since it cannot keep tokens. The URL is null without a stored
 * redirect URL. Throws `invalid_token`.
 */
export async function handOverLogin(deps: Deps, token: string): Promise<{ link: MailLink; redirectTo: string | null }> {
  const link = await describeMailLink(deps, token, 'magic_link')
  return { link, redirectTo: link.redirectUrl === null ? null : withToken(link.redirectUrl, token) }
}

/**
 * Replaces any `token` in the redirect URL. An attacker may have put one there, which would log the reader in as the attacker.
 */
function withToken(redirectUrl: string, token: string): string {
  const url = new URL(redirectUrl)
  url.searchParams.set('token', token)
  return url.href
}
