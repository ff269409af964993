import { invalidSettings } from '../errors.ts'
import { MIN_SECRET_CHARACTERS } from '../protocol.ts'

/** The options of `createWebSession`. An option that you leave out is read from the environment variable in brackets. */
export interface WebSessionOptions {
  /**
   * Where the sign-in page sends users back to: an absolute URL of this app, listed exactly so in the app's `allowed_redirect_urls`
   * [`SERVICE_REDIRECT_URL`]. Beside it are the paths to sign in and out: `https://notes.example.com/callback` makes `/login`,
   * `/callback` and `/logout`. Its origin is what this app takes for its own.
   */
  readonly redirectUrl?: string
  /**
   * Encrypts the cookies: at least 32 characters, the same on every server of the app, or `[current, previous]` while it is being
   * replaced [`SERVICE_COOKIE_SECRET`, `SERVICE_COOKIE_SECRET_PREVIOUS`].
   */
  readonly cookieSecret?: string | readonly [current: string, previous: string]
  /** With `true`, nothing is read before the first request (default false), such as during `next build`. */
  readonly lazy?: boolean
}

export interface WebConfig {
  readonly redirectUrl: string
  readonly origin: string
  readonly paths: { readonly login: string; readonly callback: string; readonly logout: string }
  readonly secrets: readonly string[]
}

const variable = (name: string) => globalThis.process?.env?.[name] || undefined

/** Throws one `CONFIG_INVALID` that names each wrong setting, and quotes none. */
export function readOptions(options: WebSessionOptions): WebConfig {
  const { redirectUrl = variable('SERVICE_REDIRECT_URL') ?? '', cookieSecret } = options
  const given = cookieSecret ?? [variable('SERVICE_COOKIE_SECRET'), variable('SERVICE_COOKIE_SECRET_PREVIOUS')]
  const [current, ...previous] = [given].flat()
  const secrets = [current ?? '', ...previous.filter((secret) => secret !== undefined)]
  const faults = Object.keys(options).flatMap((name) =>
    ['redirectUrl', 'cookieSecret', 'lazy'].includes(name) ? [] : [`${name} is not an option`],
  )
  if (!/^https?:\/\/[^?#@]+$/.test(redirectUrl) || !URL.canParse(redirectUrl))
    faults.push('SERVICE_REDIRECT_URL (redirectUrl) must be an absolute http(s) URL, as in https://notes.example.com/callback')
  if (secrets.length > 2 || secrets.some((secret) => typeof secret !== 'string' || secret.length < MIN_SECRET_CHARACTERS))
    faults.push(
      `SERVICE_COOKIE_SECRET (cookieSecret) must have ${MIN_SECRET_CHARACTERS} characters or more: openssl rand -hex 32`,
    )
  if (faults.length > 0) throw invalidSettings(...faults)
  const { origin } = new URL(redirectUrl)
  const pathOf = (name: string) => new URL(name, redirectUrl).pathname
  return {
    redirectUrl,
    origin,
    paths: { login: pathOf('login'), callback: new URL(redirectUrl).pathname, logout: pathOf('logout') },
    secrets,
  }
}
