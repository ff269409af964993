import { z } from 'zod'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import type { ErrorCode } from '../errors.ts'
import { type AdminDoor, type adminReaders, type adminWriters, isAdminDoor, type ServiceScope } from '../lib/authority.ts'
import type {
  AssertedConsumer,
  Caller,
  ClientCaller,
  ConsumerCaller,
  RequestOrigin,
  ServiceCaller,
  UserCaller,
} from '../lib/caller.ts'
import type { CookieName, Cookies } from '../lib/cookies.ts'
import { dryRun, pathParameters } from '../lib/fields.ts'
import type { PagePlace } from '../lib/html.ts'
import type { Page } from '../lib/keyset.ts'
import type { SentBack } from '../lib/sent-back.ts'
import { auditReason, type Lines } from './read-request.ts'
import type { OAuthErrorForm } from './speak/oauth.ts'
import type { Reply } from './speak/reply.ts'

/**
 * Who may call.
 * - `public`: anyone. The handler receives the bearer token unparsed.
 * - `user`: a user with a live access token.
 * - a door of the admin API (`lib/authority.ts`): those for whom it is, users only with a token of an app that may administer.
 * - `service`: a service account or a system_admin.
 * - `consumer`: a backend with the assertion of its app, which opens nothing else.
 * - `any_consumer`: like `consumer`, also if no app has the code that the assertion names.
 * - `service_account`: a service account only.
 * - `consumer_or_service_account`: a consumer or a service account.
 */
export type RouteAuth =
  | 'public'
  | 'user'
  | AdminDoor
  | 'service'
  | 'consumer'
  | 'any_consumer'
  | 'service_account'
  | 'consumer_or_service_account'

interface Callers {
  public: undefined
  user: UserCaller
  system_admin: UserCaller
  system_admin_reader: UserCaller
  help_desk: UserCaller
  admin_reader: Caller
  help_desk_reader: Caller
  configurer: Caller
  service: Caller
  consumer: ConsumerCaller
  any_consumer: AssertedConsumer
  service_account: ServiceCaller
  consumer_or_service_account: ConsumerCaller | ServiceCaller
}
type CallerOf<A extends RouteAuth> = Callers[A]

/** A GET under `/admin` is for readers, and only for them: what it shows, and that it changes nothing, is decided together. */
type AuthOf<M extends Route['method']> = Exclude<
  RouteAuth,
  M extends 'GET' ? (typeof adminWriters)[number] : (typeof adminReaders)[number]
>

export interface RouteRequest<A extends RouteAuth, P, Q, B, H = unknown, L = unknown> {
  caller: CallerOf<A>
  /** The token of the `Authorization` header, for public routes that use it. */
  bearer: string | undefined
  /** The app that calls, for routes that take one and if the call names it. */
  client: ClientCaller | undefined
  params: P
  query: Q
  body: B
  headers: H
  /** The cookies that the route declares to read, if they were sent. */
  cookies: Cookies
  /** The lines of a body of newline-delimited JSON, parsed lazily. */
  lines: Lines<L>
  /** The body of a route that takes bytes. */
  bytes: Buffer
  /** Members of the body that belong to the record but cannot be set. The use case compares them with the stored record. */
  sentBack: SentBack
  /** The body as received, for passing it on: with unknown members, and numbers in their original digits (`lib/json.ts`). */
  rawBody(): Record<string, unknown>
  origin: RequestOrigin
}

/** Looks up who a bearer token stands for; handed in by `app.ts`. Throws the `token_*` errors. */
export type AuthenticateCaller = (deps: Deps, bearer: string) => Promise<Caller>

/** One endpoint, declared once: the router, the validation, the reply check of the tests and the OpenAPI document read this. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /**
   * Relative to `/api/v1`, or to the root outside the API. Parameters are in braces: `/admin/apps/{appId}`. Their names are those
   * of `pathParameters`, which says what each may be.
   */
  path: string
  tag: string
  summary: string
  description?: string
  /**
   * How it shows answers and errors, and reads bodies. `json`: as JSON (the default). `oauth`: JSON for standard OAuth clients,
   * which may send a form, and the token of a service account in HTTP Basic or as `client_secret` in the body. `page`: HTML and
   * forms.
   */
  speaks?: 'json' | 'oauth' | 'page'
  /** How an `oauth` route shows errors. */
  oauthErrors?: OAuthErrorForm
  /**
   * The cookies that it reads and sets. Only routes at the root have any. A POST that reads one takes only forms of our own pages.
   */
  cookies?: { reads: readonly CookieName[]; sets: readonly CookieName[] }
  /**
   * Where a form of another site leads: to the GET whose parameters it has, which does no more than a link would. Undefined if the
   * form is none of these; then it is refused.
   */
  leadsOn?(sent: Record<string, unknown>): string | undefined
  /** The app that the page of an error names, of a form that was not taken. What the form says may be anybody's. */
  placeOf?(deps: Deps, sent: Record<string, unknown>): Promise<PagePlace | undefined>
  auth: RouteAuth
  /** Whether an app may authenticate, for an `oauth` route: with its code and, if it is confidential, its client secret. */
  takesClient?: boolean
  /**
   * Whether pages of other origins may call it (AUTH_CORS_ORIGINS). By default those routes that an app calls for its user: for
   * users, and POSTs that anybody may send.
   */
  cors?: boolean
  /**
   * What AUTH_RATE_LIMIT_IP counts by address. `calls`: each, the default of a POST that anybody may send. `failures`: a call that
   * fails, for one that costs little and that one address makes for many people. `strangers`: a call that fails before the caller
   * has shown who it is, the default of `oauth`. `nothing`: for what a token opens, or what anybody may read.
   */
  limit?: 'calls' | 'failures' | 'strangers' | 'nothing'
  /** Replaces the usual lookup of the caller, to read what the route needs along with it. */
  authenticate?: AuthenticateCaller
  /**
   * The user whose account the call touches, for a route behind the door `help_desk`. Somebody of the help desk must give a reason,
   * and may not touch the account of anybody who holds a global role.
   */
  helps?(deps: Deps, params: unknown): Promise<string | undefined>
  /** The scope that a service account needs. It is asked for before the body is read. */
  scope?: ServiceScope
  /** By default the schemas of `pathParameters`. */
  params?: z.ZodObject | undefined
  query?: z.ZodObject | undefined
  body?: z.ZodType | undefined
  /** The schema of one line, if the route takes newline-delimited JSON instead of a body. */
  lines?: z.ZodType | undefined
  /** The media types of a body that is taken as bytes, instead of a body of JSON. */
  takes?: readonly string[]
  /** The media types of its answers, if they are bytes. */
  sends?: readonly string[]
  /** The record that the body changes. Clients can send it back whole: members that the body cannot set go to `sentBack`. */
  record?: z.ZodObject
  /** Throws if the caller may not send this body. It is asked before the body is validated, which takes long for a large one. */
  assertMaySend?(caller: CallerOf<RouteAuth>, sent: Record<string, unknown>): void
  /** The largest body that the route accepts. Default: 64 KiB. */
  bodyLimitBytes?: number
  /** The headers that the route reads. */
  headers?: z.ZodObject | undefined
  /** Answers with server-sent events until either side closes the stream. */
  eventStream?: boolean
  /** The schema of each success status; null for one without a body. */
  responses: Record<number, z.ZodType | null>
  /** The error codes, except those that `impliedErrors` gives every route of this kind. */
  errors: readonly ErrorCode[]
  /** For responses that no cache may keep, such as tokens. */
  noStore?: boolean
  /**
   * A GET that browsers are sent to and that writes. HEAD is refused with 405, because programs that inspect a link before a
   * person follows it send HEAD. Browsers get errors as pages.
   */
  navigation?: boolean
  /** A call without an `app_code` in its body is about the app of AUTH_DEFAULT_APP_CODE. */
  takesDefaultApp?: boolean
  /** Works without the database, so it never answers `unavailable`. */
  offline?: boolean
  /** If it returns nothing, the answer is 204. */
  handle(deps: Deps<Pool>, request: RouteRequest<RouteAuth, unknown, unknown, unknown>): Promise<Reply> | Promise<void>
  /**
   * Answers a dry run with what would be done, for a call whose work continues after its response or takes long. It is rehearsed
   * like `handle`. If it returns undefined, `handle` is rehearsed instead.
   */
  plan?(deps: Deps<Pool>, request: RouteRequest<RouteAuth, unknown, unknown, unknown>): Promise<Reply | undefined>
  /**
   * Set by `route` on every write of the admin API, which takes `?dry_run=true` and `X-Audit-Reason`. `rehearsed`: the router
   * runs `handle` in a transaction that it rolls back. `own`: `handle` reads `dry_run` itself. `refused`: declared by a POST that
   * only reads, since a dry run would remove the audit of who asked. Routes without this refuse `dry_run` too.
   */
  dryRun?: 'rehearsed' | 'own' | 'refused'
}

type Output<S, Default = Record<string, never>> = S extends z.ZodType ? z.output<S> : Default

type PathParameters = typeof pathParameters
type ParamNames<Path> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | ParamNames<Rest> : never
type ParamsOf<Path> = { [Name in ParamNames<Path> & keyof PathParameters]: z.output<PathParameters[Name]> }

interface RouteDeclaration<
  M extends Route['method'],
  Path extends string,
  A extends AuthOf<M>,
  P extends z.ZodObject | undefined,
  Q extends z.ZodObject | undefined,
  B extends z.ZodType | undefined,
  H extends z.ZodObject | undefined,
  L extends z.ZodType | undefined,
> extends Omit<
    Route,
    | 'method'
    | 'path'
    | 'tag'
    | 'auth'
    | 'helps'
    | 'params'
    | 'query'
    | 'body'
    | 'headers'
    | 'lines'
    | 'errors'
    | 'assertMaySend'
    | 'handle'
    | 'plan'
    | 'dryRun'
  > {
  /** In which section of the reference it stands, if not in that of its list. */
  tag?: string
  method: M
  path: Path
  auth: A
  dryRun?: 'refused'
  params?: P
  query?: Q
  body?: B
  headers?: H
  lines?: L
  errors?: Route['errors']
  assertMaySend?(caller: CallerOf<A>, sent: Record<string, unknown>): void
  handle(
    deps: Deps<Pool>,
    request: RouteRequest<NoInfer<A>, Output<P, ParamsOf<Path>>, Output<Q>, Output<B>, Output<H>, Output<L>>,
  ): Promise<Reply> | Promise<void>
  plan?(
    deps: Deps<Pool>,
    request: RouteRequest<NoInfer<A>, Output<P, ParamsOf<Path>>, Output<Q>, Output<B>, Output<H>, Output<L>>,
  ): Promise<Reply | undefined>
}

/** A route for the help desk does not compile unless it says whom it helps. */
type Help<A extends RouteAuth, P> = A extends 'help_desk'
  ? { helps(deps: Deps, params: P): Promise<string | undefined> }
  : { helps?: never }

/** Declares a route. Its schemas type the request that `handle` gets. Admin writes also get the options that all of them take. */
export function route<
  M extends Route['method'],
  const Path extends string,
  A extends AuthOf<M>,
  P extends z.ZodObject | undefined = undefined,
  Q extends z.ZodObject | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
  H extends z.ZodObject | undefined = undefined,
  L extends z.ZodType | undefined = undefined,
>(declared: RouteDeclaration<M, Path, A, P, Q, B, H, L> & Help<A, Output<P, ParamsOf<Path>>>): Route {
  const declaration = { tag: '', errors: [], ...declared, params: declared.params ?? paramsOf(declared.path) }
  return isAdminWrite(declaration) ? withWriteOptions(declaration) : declaration
}

/** Undefined if the path has no parameters. Throws if one is not in `pathParameters`, so the server does not start. */
function paramsOf(path: string): z.ZodObject | undefined {
  const known: Record<string, z.ZodType> = pathParameters
  const entries = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const schema = known[name]
    if (!schema) throw new Error(`no path parameter has the name ${name}: ${path}`)
    return [name, schema] as const
  })
  return entries.length === 0 ? undefined : z.object(Object.fromEntries(entries))
}

function isAdminWrite({ method, auth }: Pick<Route, 'method' | 'auth'>): boolean {
  return method !== 'GET' && (isAdminDoor(auth) || auth === 'service')
}

const nothing = z.strictObject({})

function withWriteOptions(declared: Route): Route {
  const { query = nothing, headers = z.object({}) } = declared
  const isOwn = 'dry_run' in query.shape
  const audited = { ...declared, query, headers: headers.extend({ 'x-audit-reason': auditReason }) }
  if (declared.dryRun === 'refused' || isOwn) return { ...audited, dryRun: declared.dryRun ?? 'own' }
  return { ...audited, query: query.extend({ dry_run: dryRun }), dryRun: 'rehearsed' }
}

/** Puts routes into a section of the reference, those that name another one excepted. */
export function section(tag: string, routes: Route[]): Route[] {
  return routes.map((each) => (each.tag === '' ? { ...each, tag } : each))
}

export function ok(body: unknown): Reply {
  return { status: 200, body }
}

export function created(body: unknown): Reply {
  return { status: 201, body }
}

/** A page of a list, with each item as it is shown. */
export function okPage<T>({ items, nextCursor }: Page<T>, present: (item: T) => unknown = (item) => item): Reply {
  return ok({ items: items.map(present), next_cursor: nextCursor })
}

/** The work is done later. */
export function accepted(): Reply {
  return { status: 202, body: {} }
}

export function noContent(): Reply {
  return { status: 204 }
}
