import type { Deps } from '../../deps.ts'
import { linkPaths, ownPages } from './token-purpose.ts'

/**
 * The link in a mail, in ASCII: below the app's `frontend_url`, or else below AUTH_DEFAULT_FRONTEND_URL
 * (docs/sign-users-in/account-mail.md#links). Never built from what a request claims, such as its `Host`.
 */
export function buildLink(
  deps: Deps,
  app: { frontend_url: string | null } | null,
  purpose: keyof typeof linkPaths,
  { token, redirectUrl = null }: { token: string; redirectUrl?: string | null },
): string {
  const origin = asciiUrl(app?.frontend_url ?? deps.config.defaultFrontendUrl)
  const redirect = redirectUrl === null ? '' : `&redirect_url=${encodeURIComponent(redirectUrl)}`
  return `${origin}${linkPaths[purpose]}?token=${encodeURIComponent(token)}${redirect}`
}

/** A link to a page of the service itself, for pages that a frontend need not provide. */
export function ownPageLink(deps: Deps, page: keyof typeof ownPages, token: string): string {
  return `${asciiUrl(deps.config.publicUrl)}${ownPages[page]}?token=${encodeURIComponent(token)}`
}

function asciiUrl(url: string): string {
  return /^[\x21-\x7e]*$/.test(url) ? url : new URL(url).href.replace(/\/$/, '')
}
