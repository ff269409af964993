import type { Readable } from 'node:stream'
import { z } from 'zod'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import type { ErrorCode } from '../errors.ts'
import type { AssertedConsumer, Caller, ConsumerCaller, RequestOrigin, ServiceCaller, UserCaller } from '../lib/caller.ts'
import { dryRun } from '../lib/fields.ts'
import type { SentBack } from '../lib/sent-back.ts'
import { auditReason } from './audit-reason.ts'
import type { Lines } from './request-lines.ts'

/**
 * Who may call. `public`: anyone, a bearer is handed on unread. `user`: a living access token. `system_admin`: one whose holder
 * has that role now, through an app that may administer. `service`: a service account or a system_admin. `consumer`: a backend with
 * the assertion of its app, which opens nothing else; `any_consumer`: also where no app has the code that it names;
 * `service_account`: a service account alone; `consumer_or_service_account`: a consumer or a service account.
 */
export type RouteAuth =
  | 'public'
  | 'user'
  | 'system_admin'
  | 'service'
  | 'consumer'
  | 'any_consumer'
  | 'service_account'
  | 'consumer_or_service_account'

interface Callers {
  public: undefined
  user: UserCaller
  system_admin: UserCaller
  service: Caller
  consumer: ConsumerCaller
  any_consumer: AssertedConsumer
  service_account: ServiceCaller
  consumer_or_service_account: ConsumerCaller | ServiceCaller
}
type CallerOf<A extends RouteAuth> = Callers[A]

export interface RouteRequest<A extends RouteAuth, P, Q, B, H = unknown, L = unknown> {
  caller: CallerOf<A>
  /** The token of the `Authorization` header, for public routes that may have a use for it. */
  bearer: string | undefined
  params: P
  query: Q
  body: B
  headers: H
  /** The lines of a body of newline-delimited JSON, parsed as they are asked for. */
  lines: Lines<L>
  /** Of the body, what belongs to the record and cannot be set: the use-case compares it with what is. */
  sentBack: SentBack
  /** The body as it came, to be passed on: unknown members and all, and numbers in the digits that they were sent in (`lib/json.ts`). */
  rawBody: Record<string, unknown>
  origin: RequestOrigin
}

/** Looks up who a bearer token stands for; handed in by `app.ts`. Throws the `token_*` errors. */
export type AuthenticateCaller = (deps: Deps, bearer: string) => Promise<Caller>

export interface Reply {
  status: number
  body?: unknown
  headers?: Record<string, string>
  /** Sent as it comes, instead of a body. */
  stream?: Readable
}

/** One endpoint, declared once: the router, the validation, the reply check of the tests and the OpenAPI document all read this. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below `/api/v1`, or for what is no part of the API below the root, with parameters in braces: `/admin/apps/{appId}`. */
  path: string
  tag: string
  summary: string
  description?: string
  auth: RouteAuth
  /** Looks the caller up in a way of its own, which reads what the route needs along with it. */
  authenticate?: AuthenticateCaller
  params?: z.ZodObject | undefined
  query?: z.ZodObject | undefined
  body?: z.ZodType | undefined
  /** The body may be `application/x-www-form-urlencoded` too. */
  formBody?: boolean
  /** Instead of a body, newline-delimited JSON: the schema of one line. */
  lines?: z.ZodType | undefined
  /** The record that the body changes. It can be sent back whole: members that the body does not set come to `sentBack`. */
  record?: z.ZodObject
  /** The largest body that it takes; 64 KiB unless told. */
  bodyLimitBytes?: number
  /** The headers that it reads. */
  headers?: z.ZodObject | undefined
  /** Answers with server-sent events, for as long as both sides like. */
  eventStream?: boolean
  /** The schema of each success status; null for one without a body. */
  responses: Record<number, z.ZodType | null>
  /** The codes beyond those that `impliedErrors` gives every route of its kind. */
  errors: readonly ErrorCode[]
  /** Token answers, which no cache may keep. */
  noStore?: boolean
  /**
   * A GET that a person's browser is sent to, and that writes. HEAD, sent by whatever looks at a link before a person follows it, is
   * refused: 405. To a browser its errors are pages.
   */
  navigation?: boolean
  /** Without an `app_code` in its body a call is about the app of AUTH_DEFAULT_APP_CODE. */
  takesDefaultApp?: boolean
  /** Answered without the database, and so never with `unavailable`. */
  offline?: boolean
  handle(deps: Deps<Pool>, request: RouteRequest<RouteAuth, unknown, unknown, unknown>): Promise<Reply>
  /**
   * What a dry run answers for a call whose work goes on after its answer, or takes long: what would be done. It is rehearsed like
   * `handle`, and undefined leaves the answer to that.
   */
  plan?(deps: Deps<Pool>, request: RouteRequest<RouteAuth, unknown, unknown, unknown>): Promise<Reply | undefined>
  /**
   * Set by `route` on every write of the admin API, which takes `?dry_run=true` and `X-Audit-Reason`. `rehearsed`: the router runs it in
   * a transaction that it rolls back. `own`: `handle` reads the parameter itself. Elsewhere the parameter is refused.
   */
  dryRun?: 'rehearsed' | 'own'
}

type Output<S> = S extends z.ZodType ? z.output<S> : Record<string, never>

interface RouteDeclaration<
  A extends RouteAuth,
  P extends z.ZodObject | undefined,
  Q extends z.ZodObject | undefined,
  B extends z.ZodType | undefined,
  H extends z.ZodObject | undefined,
  L extends z.ZodType | undefined,
> extends Omit<Route, 'auth' | 'params' | 'query' | 'body' | 'headers' | 'lines' | 'handle' | 'plan' | 'dryRun'> {
  auth: A
  params?: P
  query?: Q
  body?: B
  headers?: H
  lines?: L
  handle(deps: Deps<Pool>, request: RouteRequest<A, Output<P>, Output<Q>, Output<B>, Output<H>, Output<L>>): Promise<Reply>
  plan?(
    deps: Deps<Pool>,
    request: RouteRequest<A, Output<P>, Output<Q>, Output<B>, Output<H>, Output<L>>,
  ): Promise<Reply | undefined>
}

/** Declares a route; the request that `handle` gets is typed by its schemas. A write of the admin API gets what all of them take. */
export function route<
  A extends RouteAuth,
  P extends z.ZodObject | undefined = undefined,
  Q extends z.ZodObject | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
  H extends z.ZodObject | undefined = undefined,
  L extends z.ZodType | undefined = undefined,
>(declaration: RouteDeclaration<A, P, Q, B, H, L>): Route {
  return isAdminWrite(declaration) ? withWriteOptions(declaration) : declaration
}

/** Whether it changes what admins govern. */
function isAdminWrite({ method, path }: Pick<Route, 'method' | 'path'>): boolean {
  return method !== 'GET' && path.startsWith('/admin/')
}

const nothing = z.strictObject({})

function withWriteOptions(declared: Route): Route {
  const { query = nothing, headers = z.object({}) } = declared
  const isOwn = 'dry_run' in query.shape
  return {
    ...declared,
    query: isOwn ? query : query.extend({ dry_run: dryRun }),
    headers: headers.extend({ 'x-audit-reason': auditReason }),
    dryRun: isOwn ? 'own' : 'rehearsed',
  }
}

export function ok(body: unknown): Reply {
  return { status: 200, body }
}

export function created(body: unknown): Reply {
  return { status: 201, body }
}

/** What was asked for is done later. */
export function accepted(): Reply {
  return { status: 202, body: {} }
}

export function noContent(): Reply {
  return { status: 204 }
}

/** Whether stock clients of OAuth may call it: they bring the token of a service account as a password of HTTP Basic or in the body. */
export function takesClientSecrets({ auth }: Pick<Route, 'auth'>): boolean {
  return auth === 'consumer_or_service_account' || auth === 'service_account'
}

/** Whether AUTH_RATE_LIMIT_IP counts the calls of a route: POSTs under `/auth/` that need no bearer. */
export function isLimitedByAddress(route: Pick<Route, 'method' | 'path' | 'auth'>): boolean {
  return route.method === 'POST' && route.auth === 'public' && route.path.startsWith('/auth/')
}

/** The codes that any route of this kind may answer with, besides its own. */
export function impliedErrors(declared: Omit<Route, 'handle'>): ErrorCode[] {
  // The parameter `dry_run` is refused wherever nothing can be rehearsed.
  const codes: ErrorCode[] = ['validation_failed', ...(declared.offline ? [] : (['unavailable'] as const))]
  if (declared.params) codes.push('not_found')
  if (declared.body) codes.push('invalid_json', 'payload_too_large', 'unsupported_media_type')
  if (declared.auth !== 'public') codes.push('token_missing', 'token_invalid', 'token_expired')
  // The token of a service account is unknown once it is replaced, and an assertion is nothing that anybody revokes.
  if (declared.auth !== 'public' && !/consumer|service_account/.test(declared.auth)) codes.push('token_revoked')
  if (declared.auth === 'system_admin') codes.push('system_admin_required', 'admin_app_not_allowed')
  if (isLimitedByAddress(declared)) codes.push('rate_limited')
  if (declared.auth === 'service') codes.push('service_caller_required', 'admin_app_not_allowed')
  return codes
}
