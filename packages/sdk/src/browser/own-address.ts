import { BrowserAuthError } from './errors.ts'
import type { Platform } from './platform.ts'

/**
 * Resolves a URL, and throws `config_invalid` unless it is of this origin: elsewhere the answer is useless to this page, and a link
 * could send the user there.
 */
export function ownUrl({ location }: Pick<Platform, 'location'>, name: string, value: string): string {
  if (!location) throw new BrowserAuthError('config_invalid', 'To sign in, the user needs a page')
  const { href, origin } = location
  if (URL.canParse(value, href)) {
    const url = new URL(value, href)
    // A `blob:` URL has an origin too, and a page from a file has the origin of every `javascript:` URL.
    if (/^https?:$/.test(url.protocol) && url.origin === origin) return url.href
  }
  throw new BrowserAuthError('config_invalid', `${name} must be an http(s) URL of ${origin}`)
}

/**
 * Removes an answer from the address bar, if `url` is the page's. A code in the address would be bookmarked, shared, and sent along
 * as the referrer.
 */
export function clearAnswer({ location, history }: Pick<Platform, 'location' | 'history'>, url: string): void {
  if (!history || location?.href !== url) return
  const cleared = new URL(url)
  for (const name of ['code', 'state', 'iss', 'error', 'error_description']) cleared.searchParams.delete(name)
  history.replaceState(history.state, '', cleared.href)
}
