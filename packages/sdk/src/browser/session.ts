/** A user, as the service returns it. */
export interface BrowserUser {
  readonly id: string
  readonly email: string
  readonly email_verified: boolean
  readonly first_name: string | null
  readonly last_name: string | null
  /** The home pool. */
  readonly namespace: string
  /** The home pool first, then pool tags. */
  readonly namespaces: readonly string[]
  readonly status: string
  /** ISO 8601. */
  readonly created_at: string
}

/** The organization that the session speaks for. */
export interface BrowserOrganization {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly role_codes: readonly string[]
}

/** What is stored of a login. Times are in milliseconds of this machine's clock. The service's own clock is never used. */
export interface Session {
  readonly accessToken: string
  readonly refreshToken: string
  readonly obtainedAt: number
  readonly expiresAt: number
  readonly user: BrowserUser
  readonly organization: BrowserOrganization | null
}

/** An object that may have the members of T, with any values. */
type Unchecked<T> = { readonly [Name in keyof T]?: unknown }

/** What an access token says of the rights of its user. Nothing for a token that cannot be read. */
export function rightsOf(accessToken: string): { readonly roles: readonly string[]; readonly permissions: readonly string[] } {
  let claims: Record<string, unknown> = {}
  try {
    const binary = atob((accessToken.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/'))
    claims = Object(JSON.parse(new TextDecoder().decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)))))
  } catch {}
  const list = (value: unknown) => (Array.isArray(value) ? value : [])
  return { roles: list(claims.roles), permissions: list(claims.permissions) }
}

const LONGEST_MARGIN_MS = 30_000

interface TokenAnswer {
  access_token: string
  refresh_token: string
  expires_in: number
  user: BrowserUser
  organization: BrowserOrganization | null
}

/**
 * Returns the session in an answer with tokens, or undefined without tokens. `sentAt` is the time of the request in milliseconds.
 */
export function readTokens(answer: unknown, sentAt: number): Session | undefined {
  const { access_token, refresh_token, expires_in, user, organization }: Unchecked<TokenAnswer> = Object(answer)
  return checkSession({
    accessToken: access_token,
    refreshToken: refresh_token,
    obtainedAt: sentAt,
    // Counted from when the request was sent, so that a slow answer never makes the token look fresher than it is.
    expiresAt: sentAt + Number(expires_in) * 1000,
    user,
    organization,
  })
}

/** Parses what `JSON.stringify` made of a session. Returns undefined for anything else. */
export function parseSession(text: string | null): Session | undefined {
  try {
    return text === null ? undefined : checkSession(JSON.parse(text))
  } catch {
    return undefined
  }
}

function checkSession(value: unknown): Session | undefined {
  if (!isSession(value)) return undefined
  const { accessToken, refreshToken, obtainedAt, expiresAt, user, organization } = value
  return { accessToken, refreshToken, obtainedAt, expiresAt, user, organization: organization ?? null }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isTime = (value: unknown): value is number => Number.isFinite(value)

/** The organization and the other members of the user are not checked. */
function isSession(value: unknown): value is Session {
  const { accessToken, refreshToken, obtainedAt, expiresAt, user }: Unchecked<Session> = Object(value)
  const { id }: Unchecked<BrowserUser> = Object(user)
  return [accessToken, refreshToken, id].every(isText) && [obtainedAt, expiresAt].every(isTime)
}

/** The token in an answer by which the service knows this browser at the next login. */
export function deviceTokenOf(answer: unknown): string | undefined {
  const { device_token }: { readonly device_token?: unknown } = Object(answer)
  return isText(device_token) ? device_token : undefined
}

/** Whether the access token can be used as it is. It is refreshed a little before its end. */
export function isFresh(session: Session, now: number): boolean {
  return isWithin(session, now, marginOf(session))
}

/** Whether the access token is still accepted, as far as this clock can tell. */
export function isUnexpired(session: Session, now: number): boolean {
  return isWithin(session, now, 0)
}

function marginOf({ obtainedAt, expiresAt }: Session): number {
  return Math.min(LONGEST_MARGIN_MS, (expiresAt - obtainedAt) / 10)
}

/**
 * Returns false if the clock was set back, because it then says nothing about the age of the token. It may be back by less than
 * the margin, which makes up for it: browsers round the time, so the clock of the tab that wrote the session may differ.
 */
function isWithin(session: Session, now: number, margin: number): boolean {
  return session.obtainedAt - marginOf(session) <= now && now < session.expiresAt - margin
}
