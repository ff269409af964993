import type { Config } from '../config.ts'
import { logoPath } from '../lib/brand.ts'
import type { PagePlace } from '../lib/html.ts'
import type { App } from '../models/app.ts'

/** What the pages for an app show of it. */
export function placeOf(
  { publicUrl }: Pick<Config, 'publicUrl'>,
  { name, code, brand, logo, frontend_url: home }: Pick<App, 'name' | 'code' | 'brand' | 'logo' | 'frontend_url'>,
): PagePlace {
  const links = [
    { kind: 'help' as const, url: brand.support_url ?? mailTo(brand.support_email) },
    { kind: 'terms' as const, url: brand.terms_url },
    { kind: 'privacy' as const, url: brand.privacy_url },
  ]
  return {
    name,
    code,
    accentColor: brand.accent_color ?? null,
    logo: logo === null ? null : new URL(publicUrl).pathname.replace(/\/$/, '') + logoPath(logo),
    home,
    links: links.flatMap(({ kind, url }) => (url ? [{ kind, url }] : [])),
    language: brand.default_language ?? null,
  }
}

/** Encoded, since `?` and `&` may stand in an address, and would begin a subject, a text or further recipients. */
function mailTo(address: string | null | undefined): string | null {
  return address ? `mailto:${address.split('@').map(encodeURIComponent).join('@')}` : null
}
