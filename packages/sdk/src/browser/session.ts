/** A user as the service shows one. */
export interface BrowserUser {
  readonly id: string
  readonly email: string
  readonly email_verified: boolean
  readonly first_name: string | null
  readonly last_name: string | null
  /** Home pool. */
  readonly namespace: string
  /** Home pool first, then pool tags. */
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

/** What is kept of a login. Times are milliseconds of this machine's clock: the service's own never matters here. */
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

const LONGEST_MARGIN_MS = 30_000

interface TokenAnswer {
  access_token: string
  refresh_token: string
  expires_in: number
  user: BrowserUser
  organization: BrowserOrganization | null
}

/** The session in an answer with tokens. Undefined for an answer without. `sentAt` is the time of the request. */
export function readTokens(answer: unknown, sentAt: number): Session | undefined {
  const { access_token, refresh_token, expires_in, user, organization }: Unchecked<TokenAnswer> = Object(answer)
  return checkSession({
    accessToken: access_token,
    refreshToken: refresh_token,
    obtainedAt: sentAt,
    // From the sending on, so that however long the answer took, the token is never taken for fresher than it is.
    expiresAt: sentAt + Number(expires_in) * 1000,
    user,
    organization,
  })
}

/** What `JSON.stringify` made of a session; undefined for anything else that lies in its place. */
export function parseSession(text: string | null): Session | undefined {
  try {
    return text === null ? undefined : checkSession(JSON.parse(text))
  } catch {
    return undefined
  }
}

function checkSession(value: unknown): Session | undefined {
  const { accessToken, refreshToken, obtainedAt, expiresAt, user, organization }: Unchecked<Session> = Object(value)
  if (!isText(accessToken) || !isText(refreshToken) || !isUser(user)) return undefined
  if (!isTime(obtainedAt) || !isTime(expiresAt)) return undefined
  return {
    accessToken,
    refreshToken,
    obtainedAt,
    expiresAt,
    user,
    organization: (organization ?? null) as Session['organization'],
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isTime = (value: unknown): value is number => Number.isFinite(value)

/** The other members are not checked. */
function isUser(value: unknown): value is BrowserUser {
  const { id }: Unchecked<BrowserUser> = Object(value)
  return isText(id)
}

/** Whether the access token can be used as it is. It is renewed a little before its end. */
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
 * A clock that was set back says nothing about the age of the token. Back by less than the margin, which makes good for it, may also
 * be the clock of the tab that wrote the session: browsers round the time.
 */
function isWithin(session: Session, now: number, margin: number): boolean {
  return session.obtainedAt - marginOf(session) <= now && now < session.expiresAt - margin
}
