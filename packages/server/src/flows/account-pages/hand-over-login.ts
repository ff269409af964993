import type { Deps } from '../../deps.ts'
import { describeMailLink, type MailLink } from './describe-mail-link.ts'

/**
 * Where a browser takes the token of a magic link: to the app, which spends it (`POST /auth/magic-link/consume`) and keeps what it
 * gets. A page has nowhere to keep tokens, so it spends nothing. Null without a stored redirect URL. Throws `invalid_token`.
 */
export async function handOverLogin(deps: Deps, token: string): Promise<{ link: MailLink; redirectTo: string | null }> {
  const link = await describeMailLink(deps, token, 'magic_link')
  return { link, redirectTo: link.redirectUrl === null ? null : withToken(link.redirectUrl, token) }
}

/** The sender of the request for the mail chose the redirect URL. A token in that URL would log its reader in as somebody else. */
function withToken(redirectUrl: string, token: string): string {
  const url = new URL(redirectUrl)
  url.searchParams.set('token', token)
  return url.href
}
