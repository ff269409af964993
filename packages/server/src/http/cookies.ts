import type { Context } from 'koa'
import type { Deps } from '../deps.ts'
import type { CookieName, Cookies, SetCookies } from '../lib/cookies.ts'

/**
 * The cookies that a route reads. With an https `PUBLIC_URL` their names have the prefix `__Host-`, so that no other host of the
 * domain can set them.
 */
export function readCookies({ config }: Deps, ctx: Context, names: readonly CookieName[]): Cookies {
  const sent = names.map((name) => [name, ctx.cookies.get(nameOf(config.publicUrl, name))] as const)
  return Object.fromEntries(sent.filter(([, value]) => value !== undefined))
}

export function writeCookies({ config }: Deps, ctx: Context, cookies: SetCookies, declared: readonly CookieName[]): void {
  const secure = isSecure(config.publicUrl)
  // A proxy has ended TLS, which the cookie library cannot see.
  ctx.cookies.secure = secure
  for (const name of declared) {
    const cookie = cookies[name]
    if (cookie === undefined) continue
    const { value, seconds } = cookie ?? { value: '', seconds: 0 }
    const lasts = seconds === undefined ? {} : { maxAge: seconds * 1000 }
    ctx.cookies.set(nameOf(config.publicUrl, name), value, {
      httpOnly: true,
      sameSite: 'lax',
      path: '/',
      secure,
      overwrite: true,
      ...lasts,
    })
  }
}

function nameOf(publicUrl: string, name: CookieName): string {
  return `${isSecure(publicUrl) ? '__Host-' : ''}gatehouse_${name}`
}

function isSecure(publicUrl: string): boolean {
  return publicUrl.startsWith('https:')
}

/**
 * Whether a page of this origin has sent a form. Browsers name the site of the sender; those that do not yet do so name its origin.
 * `Origin: null` is never ours.
 */
export function isOwnForm({ config }: Deps, ctx: Context): boolean {
  const site = ctx.get('Sec-Fetch-Site')
  return site === '' ? ctx.get('Origin') === new URL(config.publicUrl).origin : site === 'same-origin'
}
