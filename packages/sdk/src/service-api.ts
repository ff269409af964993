import { callPatiently } from './call-service.ts'
import type { Claims } from './claims.ts'
import type { Config } from './config.ts'
import { invalidSettings } from './errors.ts'

// Loaded with the calls of `api`, since most apps never make any.
export { holdServiceTokens } from './hold-service-tokens.ts'

/** The service's answer about a token (RFC 7662). It has only `active: false` if the token is not valid now for this app. */
export type Introspection =
  | { readonly active: false }
  | (Claims & {
      readonly active: true
      readonly token_type: 'Bearer'
      readonly client_id: string
      readonly sub: string
      readonly username: string
      /** The permissions, with blanks between them. */
      readonly scope: string
    })

/** Members besides these are passed to the webhooks as they are. */
export interface NewUser {
  readonly email: string
  readonly password: string
  readonly first_name?: string
  readonly last_name?: string
  /** Default: this app. */
  readonly app_code?: string
  readonly [member: string]: unknown
}

export interface KnownUser {
  /** False when the user was there before; also when an earlier try made it and its answer was lost on the way. */
  readonly created: boolean
  readonly user: {
    readonly id: string
    readonly email: string
    readonly email_verified: boolean
    readonly first_name: string | null
    readonly last_name: string | null
    readonly namespace: string
    readonly namespaces: readonly string[]
    readonly status: string
    readonly created_at: string
  }
  readonly app: { readonly id: string; readonly code: string }
  readonly access: 'granted' | 'pending'
  readonly organization: {
    readonly id: string
    readonly slug: string
    readonly name: string
    readonly role_codes: readonly string[]
  } | null
}

/**
 * Each call ends within 10 s, and is tried twice more on 429, 5xx and a broken connection, after what `Retry-After` says. Rejects with
 * `SERVICE_REJECTED` when the service refuses it, `SERVICE_UNREACHABLE` when it does not answer; `requestId` is the service's.
 */
export interface ServiceApi {
  /** Asks whether a token of this app is valid now. */
  introspect(token: string): Promise<Introspection>
  /** Creates a user or returns the existing one, without tokens. Needs a `serviceToken` with the scope `users:register_or_return`. */
  registerOrReturn(user: NewUser): Promise<KnownUser>
}

function call<Answer>(config: Config, path: string, body: object, token?: string): Promise<Answer> {
  return callPatiently<Answer>(config, { path, body, token, signal: config.closing.signal }, 10_000, 2)
}

export function introspect(config: Config, token: string): Promise<Introspection> {
  return call(config, '/auth/introspect', { token })
}

export async function registerOrReturn(config: Config, user: NewUser): Promise<KnownUser> {
  const { serviceToken, appCode: app_code } = config
  if (!serviceToken) throw invalidSettings('SERVICE_ACCOUNT_TOKEN is missing')
  const body = { app_code, ...user, mode: 'register_or_return' }
  return call(config, '/auth/register', body, serviceToken)
}
