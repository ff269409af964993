import { callPatiently } from './call-patiently.ts'
import type { Claims } from './claims.ts'
import { type Config, lacking } from './config.ts'
import { invalidSettings } from './errors.ts'

// In the same module as the calls of `api`, which is loaded late: each module that is loaded so makes the core larger.
export { holdServiceTokens } from './hold-service-tokens.ts'
export { register } from './register-permissions.ts'
export { onUserChange } from './user-changes.ts'

/** The service's answer about a token (RFC 7662). It is only `active: false` if the token is not valid now for this app. */
export type Introspection =
  | { readonly active: false }
  | (Claims & {
      readonly active: true
      readonly token_type: 'Bearer'
      readonly client_id: string
      readonly sub: string
      readonly username: string
      /** The permissions, separated by blanks. */
      readonly scope: string
    })

/** The user to register. Any other members are passed on to the webhooks unchanged. */
export interface NewUser {
  readonly email: string
  readonly password: string
  readonly first_name?: string
  readonly last_name?: string
  /** The code of the app to register the user in (default this app). */
  readonly app_code?: string
  readonly [member: string]: unknown
}

/** A user who was created or already existed. */
export interface KnownUser {
  /** False if the user already existed. Also false if an earlier try created the user but its answer was lost. */
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
 * Calls to the service. Each ends within 10 s, and is retried twice on 429, 5xx and a broken connection, after the time in
 * `Retry-After`. Rejects with `SERVICE_REJECTED` if the service refuses it and with `SERVICE_UNREACHABLE` if it does not answer;
 * `requestId` is the service's.
 */
export interface ServiceApi {
  /** Asks the service whether a token of this app is valid now. Resolves to its claims, or to `{ active: false }`. */
  introspect(token: string): Promise<Introspection>
  /**
   * Creates a user, or returns the existing one. Issues no tokens. Needs a `serviceToken` with the scope
   * `users:register_or_return`; throws `CONFIG_INVALID` without one.
   */
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
  if (!serviceToken) throw invalidSettings(lacking('SERVICE_ACCOUNT_TOKEN'))
  const body = { app_code, ...user, mode: 'register_or_return' }
  return call(config, '/auth/register', body, serviceToken)
}
