import type { Context } from 'koa'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import { ApiError, fieldError } from '../errors.ts'
import { isAdminDoor } from '../lib/authority.ts'
import type { AssertedConsumer, Caller, ClientCaller, ConsumerCaller } from '../lib/caller.ts'
import { looksLikeServiceToken } from '../lib/service-token.ts'
import { type LimitByBody, type LimitOptions, limitCall, limitOf } from './limits.ts'
import { type ParsedBody, readBody } from './read-request.ts'
import type { Route } from './route.ts'

/** How callers are looked up and counted; handed in by `app.ts`. */
export interface CallerOptions extends LimitOptions {
  /** Verifies the assertion of a consumer and looks up its app. */
  authenticateConsumer(deps: Deps, assertion: string): Promise<AssertedConsumer>
  /** Checks the client secret of an app, which only a confidential app needs. Throws `invalid_client`. */
  authenticateClient(deps: Deps, client: { code: string; secret: string | undefined }): Promise<ClientCaller>
}

/** Who calls, as far as the route asks. */
export interface KnownCaller {
  caller: Caller | AssertedConsumer | undefined
  bearer: string | undefined
  client: ClientCaller | undefined
  /** The body, if it was read to find the client secret. */
  sent: ParsedBody | undefined
  limitByBody: LimitByBody | undefined
}

/** Finds out who calls, after counting the call by address. Throws `rate_limited` and what refuses a caller. */
export async function whoCalls(deps: Deps<Pool>, route: Route, ctx: Context, options: CallerOptions): Promise<KnownCaller> {
  const { ip } = ctx.state.origin
  const limit = limitOf(route)
  const isOAuth = route.speaks === 'oauth'
  const basic = isOAuth ? basicOf(ctx) : undefined
  const inHeader = bearerOf(route, ctx) ?? serviceTokenIn(basic?.password)
  const readsBodyFirst = isOAuth && inHeader === undefined
  // Strangers can send such bodies too.
  if (readsBodyFirst && limit !== undefined) await options.assertRoomForAddress(deps, 'ip', ip)
  // A body is read once. An unreadable one holds no secret, so a route that needs a caller refuses with `token_missing`.
  let fault: unknown
  const keepFault = (error: unknown) => {
    fault = error
    return undefined
  }
  const first = readsBodyFirst ? await readBody(ctx, route).catch(keepFault) : undefined
  const bearer = inHeader ?? serviceTokenIn(first?.value.client_secret)
  const isLimited = limit === 'calls' || limit === 'failures'
  const limitByBody = isLimited ? await limitCall(deps, route, { ip, bearer }, options) : undefined
  const caller = await authorize(deps, route, bearer, options)
  if (fault !== undefined) throw fault
  const sent = first ?? (route.takesClient ? await readBody(ctx, route) : undefined)
  const inBody = textIn(sent?.value.client_secret)
  if (inBody !== undefined && (inHeader !== undefined || basic))
    throw fieldError('client_secret', 'invalid_value', 'cannot be sent together with an Authorization header')
  // An app that has tried to authenticate is not taken for one that has not.
  if (route.takesClient && !basic && /^Basic\b/i.test(ctx.get('Authorization')))
    throw new ApiError('invalid_client', { detail: 'The Authorization header is malformed' })
  const code = textIn(sent?.value.client_id)
  const isServiceAccount = bearer !== undefined && looksLikeServiceToken(bearer)
  const given = isServiceAccount ? { code } : { basic, code, secret: inBody }
  const client = route.takesClient ? await clientOf(deps, given, { ...options, isServiceAccount }) : undefined
  return { caller, bearer, client, sent, limitByBody }
}

/** The app that a call names in HTTP Basic or in its body. Standard clients without a secret may send an empty one. */
async function clientOf(
  deps: Deps,
  { basic, code, secret }: { basic?: BasicCredentials | undefined; code: string | undefined; secret?: string | undefined },
  { isServiceAccount, authenticateClient }: Pick<CallerOptions, 'authenticateClient'> & { isServiceAccount: boolean },
): Promise<ClientCaller | undefined> {
  // It authenticates as itself. An app that it names beside that has shown nothing.
  if (isServiceAccount) return code === undefined ? undefined : { code, hasShownSecret: false }
  if (basic && code !== undefined && code !== basic.user)
    throw fieldError('client_id', 'invalid_value', 'is not the one in the Authorization header')
  const named = basic ? { code: basic.user, secret: basic.password || undefined } : { code, secret }
  if (named.code !== undefined) return authenticateClient(deps, { code: named.code, secret: named.secret })
  if (named.secret !== undefined) throw fieldError('client_id', 'required', 'is required with client_secret')
  return undefined
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The token of `Authorization: Bearer …`. Undefined if there is none, and for a page, which browsers open without one. */
function bearerOf({ speaks }: Route, ctx: Context): string | undefined {
  if (speaks === 'page') return undefined
  return /^Bearer +([^\s]+) *$/i.exec(ctx.get('Authorization'))?.[1]
}

interface BasicCredentials {
  user: string
  password: string
}

/** The user and password of HTTP Basic. Standard clients of RFC 7662 send the token of a service account as their password. */
function basicOf(ctx: Context): BasicCredentials | undefined {
  const encoded = /^Basic +([^\s]+) *$/i.exec(ctx.get('Authorization'))?.[1]
  const [, user, password] = (encoded && /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString())) || []
  return user === undefined || password === undefined ? undefined : { user: formDecoded(user), password: formDecoded(password) }
}

/** RFC 6749 section 2.3.1: clients form-encode both parts, and some encode every character except letters and digits. */
function formDecoded(text: string): string {
  return new URLSearchParams(`text=${text.replaceAll('&', '%26')}`).get('text') ?? ''
}

/** The token of a service account in the `client_secret` of a body. Undefined if the secret is something else. */
function serviceTokenIn(secret: unknown): string | undefined {
  return typeof secret === 'string' && looksLikeServiceToken(secret) ? secret : undefined
}

/**
 * Authenticates the caller that a route requires, and refuses a service account without the scope of the route. A public route
 * gets undefined, and its token is not checked.
 */
async function authorize(
  deps: Deps,
  { auth, scope, authenticate }: Route,
  bearer: string | undefined,
  options: CallerOptions,
): Promise<Caller | AssertedConsumer | undefined> {
  if (auth === 'public') return undefined
  if (bearer === undefined) throw new ApiError('token_missing')
  if (auth === 'any_consumer') return options.authenticateConsumer(deps, bearer)
  if (auth === 'service_account' && !looksLikeServiceToken(bearer))
    throw new ApiError('token_invalid', { detail: 'The token of a service account is required' })
  const takesServiceAccounts =
    auth === 'service_account' || (auth === 'consumer_or_service_account' && looksLikeServiceToken(bearer))
  if (auth === 'consumer' || (auth === 'consumer_or_service_account' && !takesServiceAccounts)) {
    return ofKnownApp(await options.authenticateConsumer(deps, bearer))
  }
  const caller = await (authenticate ?? options.authenticate)(deps, bearer)
  if (auth === 'user') {
    if (caller.kind !== 'user') throw new ApiError('token_invalid', { detail: 'An access token of a user is required' })
    return caller
  }
  if ((auth === 'service' || takesServiceAccounts) && caller.kind === 'service_account') {
    const refusal = scope && caller.authority.refuseWithout(scope)
    if (refusal) throw new ApiError(refusal.code, refusal)
    return caller
  }
  const refusal = caller.authority.refuseAdministration(isAdminDoor(auth) ? auth : undefined)
  if (!refusal) return caller
  if (auth === 'service' && refusal.code === 'system_admin_required') throw new ApiError('service_caller_required')
  throw new ApiError(refusal.code, refusal)
}

function ofKnownApp({ app, ...consumer }: AssertedConsumer): ConsumerCaller {
  if (!app) throw new ApiError('token_invalid', { detail: 'No app has the code in sub' })
  return { ...consumer, app }
}
