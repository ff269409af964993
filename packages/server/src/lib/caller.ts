import type { AccessTokenClaims } from './access-token.ts'
import type { ServiceAuthority, UserAuthority } from './authority.ts'

/** Where a request came from, for logs and the audit. */
export interface RequestOrigin {
  ip: string
  userAgent: string | null
  requestId: string
  /** What languages the person reads, as `Accept-Language` says it. On our own pages, `ui_locales` stands before it. */
  languages?: string | undefined
  /** The code of the app whose backend sends this, if it is exempt from the limit per address. */
  exemptApp?: string | undefined
  /** The caller's reason, from `X-Audit-Reason` of an admin write. */
  auditReason?: string | undefined
}

/** A user with a live access token: signature, session, account and token version were all checked. */
export interface UserCaller {
  kind: 'user'
  userId: string
  sessionId: string
  /** From the session's row, since anyone who holds the shared secret can forge a claim. */
  appId: string | null
  appCode: string | null
  /** Whether the app is confidential, so that its tokens are for its backend alone. */
  isOfConfidential: boolean
  authority: UserAuthority
  /** The generation of the catalog, as read together with the session. */
  catalogGeneration: string
  claims: AccessTokenClaims
}

/** A person on our own pages, where a browser session stands for them (`callerOfBrowser`). */
export interface PersonCaller {
  kind: 'user'
  userId: string
  /** There is no session of an app. */
  sessionId: null
  appId: null
  browserSessionId: string
  authority: UserAuthority
}

/** Somebody who changes their own account: through an app, or on the account page. */
export type OwnCaller = UserCaller | PersonCaller

export interface ServiceCaller {
  kind: 'service_account'
  id: string
  authority: ServiceAuthority
}

/** The app that a backend speaks for. A deleted app has no settings. It counts for an hour, unless another app takes its code. */
export type ConsumerApp =
  | { id: string; status: 'active' | 'inactive'; permission_scope: 'services' | 'roles'; signing: 'shared' | 'own' }
  | { id: string; status: 'deleted' }

/** A backend that proved with an assertion that it holds one of our secrets. It carries no user's or service account's rights. */
export interface AssertedConsumer {
  kind: 'consumer'
  /** Null if no app has the code. */
  app: ConsumerApp | null
  appCode: string
  /** Key ids of the secrets it accepts, sorted. */
  kids: readonly string[]
  /** Whether the app's own key signed the assertion. */
  hasOwnKey: boolean
  /** The app and the keys that it was authenticated with. When these change, its stream ends. */
  standing: string
  /** The id of the service, which tells the consumer which database it speaks to. */
  serviceId: string
}

/** A consumer whose app is known. It validates tokens of the app locally. */
export interface ConsumerCaller extends AssertedConsumer {
  app: ConsumerApp
}

/** Which events a consumer understands: 1 means those about one user, 2 also those about an app. */
export type FeedForm = 1 | 2

/** An app at the token endpoint, as it names itself. Only a client secret proves it. */
export interface ClientCaller {
  code: string
  hasShownSecret: boolean
}

/** Whether an app has shown what it has to: a confidential one its client secret, and a public one nothing. */
export function hasAuthenticated(
  app: { code: string; client: 'public' | 'confidential' },
  client: ClientCaller | undefined,
): boolean {
  return app.client === 'public' || (client?.hasShownSecret === true && client.code === app.code)
}

export type Caller = UserCaller | ServiceCaller

/** Who did something and from where: what an audit event needs besides the event. */
export interface Actor {
  caller: Caller | PersonCaller | undefined
  origin: RequestOrigin
}

/** The id of the user or service account that acts. */
export function actorIdOf({ caller }: Actor): string | null {
  if (!caller) return null
  return caller.kind === 'user' ? caller.userId : caller.id
}
