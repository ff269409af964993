import type { AccessTokenClaims } from './access-token.ts'
import type { ServiceAuthority, UserAuthority } from './authority.ts'

/** Where a request came from, for logs and the audit. */
export interface RequestOrigin {
  ip: string
  userAgent: string | null
  requestId: string
  /** The code of the app whose backend sends this, exempt from the limit per address. */
  exemptApp?: string | undefined
  /** Why the caller does it, as `X-Audit-Reason` of an admin write says. */
  auditReason?: string | undefined
}

/** A user whose access token lives: signature, session, account and token version were all looked at. */
export interface UserCaller {
  kind: 'user'
  userId: string
  sessionId: string
  /** Of the session's row; a claim could have been minted by anyone who holds the shared secret. */
  appId: string | null
  appCode: string | null
  authority: UserAuthority
  /** Of apps and permissions, as read together with the session. */
  catalogGeneration: string
  claims: AccessTokenClaims
}

export interface ServiceCaller {
  kind: 'service_account'
  id: string
  authority: ServiceAuthority
}

/** The app that a backend speaks for. A deleted one has no settings; it is one for an hour, unless another app takes its code. */
export type ConsumerApp =
  | { id: string; status: 'active' | 'inactive'; permission_scope: 'services' | 'roles'; signing: 'shared' | 'own' }
  | { id: string; status: 'deleted' }

/** A backend that holds a secret of ours, by its assertion. Nobody else's rights are in it. */
export interface AssertedConsumer {
  kind: 'consumer'
  /** Null where no app has the code. */
  app: ConsumerApp | null
  appCode: string
  /** Key ids of the secrets it accepts, sorted. */
  kids: readonly string[]
  /** Which database it speaks to. */
  serviceId: string
}

/** One that validates tokens of an app by itself. */
export interface ConsumerCaller extends AssertedConsumer {
  app: ConsumerApp
}

/** Which events a consumer understands: 1 those about one user each, 2 those about an app as well. */
export type FeedForm = 1 | 2

export type Caller = UserCaller | ServiceCaller

/** Who did something and from where: what an audit event needs besides the event. */
export interface Actor {
  caller: Caller | undefined
  origin: RequestOrigin
}

/** The user or service account that does it. */
export function actorIdOf({ caller }: Actor): string | null {
  if (!caller) return null
  return caller.kind === 'user' ? caller.userId : caller.id
}
