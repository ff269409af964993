import { isIP } from 'node:net'

/** The site that passkeys belong to. `id` is its host. */
export interface RelyingParty {
  id: string
  origin: string
}

/**
 * The relying party of a `PUBLIC_URL`. Undefined where browsers allow no passkeys: at an IP address, and without https but for
 * localhost. Also if the URL has a path, since the pages are off then.
 */
export function relyingPartyOf(publicUrl: string): RelyingParty | undefined {
  const { hostname, origin, protocol, pathname } = new URL(publicUrl)
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  if (pathname !== '/' || (protocol !== 'https:' && !isLocal)) return undefined
  if (isIP(hostname) !== 0 || hostname.startsWith('[')) return undefined
  return { id: hostname, origin }
}
