import { z } from 'zod'
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi'
import { type ErrorCode, errorCodes, fieldErrorCodes, ownBodyOf, wordOf } from '../errors.ts'
import { isAdminDoor } from '../lib/authority.ts'
import { keysOf } from '../lib/collections.ts'
import { version } from '../lib/version.ts'
import { limitOf } from './limits.ts'
import { ok, type Route, route } from './route.ts'
import { oauthStatusOf } from './speak/oauth.ts'

const fieldErrorRecord = z.object({
  path: z.string().meta({ description: 'Member names and list positions joined by dots: `webhooks.0.url`' }),
  code: z.enum(fieldErrorCodes),
  message: z.string(),
})

const enrollmentUrl = z
  .string()
  .optional()
  .meta({ description: 'Only with `two_factor_enrollment_required`: the page where the user can set up a second factor' })

/** The common shape of errors, with the members of RFC 9457. */
const errorRecord = z
  .object({
    status: z.int(),
    code: z.string().meta({ description: 'A stable code that clients can switch on' }),
    title: z.string(),
    detail: z.string().nullable(),
    errors: z.array(fieldErrorRecord).optional().meta({ description: 'Only with `validation_failed`' }),
    enrollment_url: enrollmentUrl,
    request_id: z.string(),
  })
  .meta({ id: 'Error' })

/** Errors of the token endpoint, as RFC 6749 says. */
const oauthErrorRecord = z
  .object({
    error: z.string(),
    error_description: z.string(),
    code: z.string(),
    enrollment_url: enrollmentUrl,
    request_id: z.string(),
  })
  .meta({ id: 'OAuthError' })

const ownBodies = new Map(
  keysOf(errorCodes).flatMap((code): [ErrorCode, z.ZodType][] => {
    const body = ownBodyOf(code)
    if (!body) return []
    const members = Object.fromEntries(Object.entries(body).map(([name, value]) => [name, z.literal(value)]))
    return [[code, z.strictObject(members).meta({ id: code.split('_').map(capital).join('') })]]
  }),
)

/** Builds the OpenAPI 3.1 document of the routes from the same schemas that validate their requests. */
export function buildOpenApi(mounts: readonly { prefix: string; routes: readonly Route[] }[]) {
  const paths: ZodOpenApiPathsObject = {}
  for (const { prefix, routes } of mounts) {
    for (const route of routes) {
      const path = prefix + route.path
      paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
    }
  }
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Gatehouse',
      version,
      description: 'One login service for all of an organization’s apps: registration, login, tokens and their administration.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(mounts.flatMap(({ routes }) => routes.map((route) => route.tag)))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'An access token, the token of a service account, or the assertion of a consumer',
        },
        basic: {
          type: 'http',
          scheme: 'basic',
          description: 'The token of a service account as the password, with any user name',
        },
      },
    },
  })
}

/** The route that serves the OpenAPI document, which includes this route. The document is built on the first request. */
export function openApiRoute(build: () => unknown): Route {
  let document: unknown
  return route({
    method: 'GET',
    path: '/openapi.json',
    tag: 'System',
    summary: 'This document',
    auth: 'public',
    offline: true,
    responses: { 200: z.looseObject({}) },
    handle: async () => {
      document ??= build()
      return ok(document)
    },
  })
}

function operationOf(route: Route): ZodOpenApiOperationObject {
  return {
    operationId: operationId(route),
    tags: [route.tag],
    summary: route.summary,
    ...describe(route),
    security: securityOf(route),
    // Whose token the route takes. OpenAPI itself cannot express that.
    'x-caller': route.auth,
    ...(route.params || route.query || route.headers
      ? {
          requestParams: {
            ...(route.params ? { path: route.params } : {}),
            ...(route.query ? { query: route.query } : {}),
            ...(route.headers ? { header: route.headers } : {}),
          },
        }
      : {}),
    ...(route.body ? { requestBody: { ...bodyNote(route), required: true, content: bodyContent(route) } } : {}),
    ...(route.takes ? { requestBody: { ...bodyNote(route), required: true, content: bytesOf(route.takes) } } : {}),
    ...(route.lines ? { requestBody: { ...bodyNote(route), content: { 'application/x-ndjson': { schema: route.lines } } } } : {}),
    responses: { ...successResponses(route), ...errorResponses(route) },
  }
}

/** The empty requirement stands for a `client_secret` in the body. */
function securityOf(route: Route): Record<string, string[]>[] {
  if (route.auth === 'public') return []
  return route.speaks === 'oauth' ? [{ bearer: [] }, { basic: [] }, {}] : [{ bearer: [] }]
}

const sentBackNote =
  'You can send the record back as you read it. Members that cannot be set here are ignored if they are unchanged, and refused with 400 otherwise.'

function describe({ description, record }: Route): { description?: string } {
  const notes = [description, record && sentBackNote].filter((note) => note !== undefined)
  return notes.length > 0 ? { description: notes.join(' ') } : {}
}

function bodyNote({ bodyLimitBytes }: Route) {
  if (bodyLimitBytes === undefined) return {}
  const kibibytes = bodyLimitBytes / 1024
  return { description: `At most ${kibibytes < 1024 ? `${kibibytes} KiB` : `${kibibytes / 1024} MiB`}` }
}

const bytes = { schema: { type: 'string', format: 'binary' } } as const

function bytesOf(types: readonly string[]) {
  return Object.fromEntries(types.map((type) => [type, bytes]))
}

function bodyContent({ body: schema, speaks }: Route) {
  return {
    ...(speaks === 'page' ? {} : { 'application/json': { schema } }),
    ...(speaks === 'page' || speaks === 'oauth' ? { 'application/x-www-form-urlencoded': { schema } } : {}),
  }
}

/** `POST /admin/apps/{appId}` → `postAdminAppsByAppId`. */
function operationId(route: Route): string {
  const words = route.path.split('/').filter(Boolean)
  const names = words.map((word) =>
    word.startsWith('{') ? `By${capital(word.slice(1, -1))}` : word.split(/[-_.]/).map(capital).join(''),
  )
  return route.method.toLowerCase() + names.join('')
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

function successResponses(route: Route): ZodOpenApiResponsesObject {
  return Object.fromEntries(
    Object.entries(route.responses).map(([status, schema]) => [
      status,
      schema && route.sends
        ? { description: route.summary, content: bytesOf(route.sends) }
        : schema
          ? { description: route.summary, content: { [route.speaks === 'page' ? 'text/html' : 'application/json']: { schema } } }
          : route.eventStream
            ? { description: route.summary, content: { 'text/event-stream': { schema: z.string() } } }
            : { description: status === '302' ? 'A redirect to `Location`' : 'Done' },
    ]),
  )
}

/** The error codes of a route, by status: its own and those that its kind implies. */
export function errorsOf(route: Route): Map<number, ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of [...new Set([...route.errors, ...impliedErrors(route)])].sort()) {
    const status = route.oauthErrors ? oauthStatusOf(code, route.oauthErrors) : errorCodes[code].status
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return byStatus
}

function errorResponses(route: Route): ZodOpenApiResponsesObject {
  return Object.fromEntries([...errorsOf(route)].map(([status, codes]) => [String(status), errorResponse(codes, route)]))
}

const responses = new Map<string, ZodOpenApiResponseObject>()

/** The component that all routes with these codes share. Its name lists the codes, so you can read them without a lookup. */
function errorResponse(codes: readonly ErrorCode[], { oauthErrors, speaks }: Route): ZodOpenApiResponseObject {
  const form = speaks === 'page' ? 'page' : oauthErrors === 'alone' || oauthErrors === 'bearer' ? 'oauth' : undefined
  const id = [...(form ? [form] : []), ...codes].join('.')
  const response = responses.get(id) ?? {
    id,
    description: [...new Set(codes.map((code) => `\`${wordOf(code)}\``))].join(', '),
    content:
      form === 'page'
        ? { 'text/html': { schema: z.string() } }
        : { 'application/json': { schema: form === 'oauth' ? oauthErrorRecord : bodyOf(codes) } },
  }
  responses.set(id, response)
  return response
}

/** The common record, or a code's own body. The body of `two_factor_required` is the component `TwoFactorRequired`. */
function bodyOf(codes: readonly ErrorCode[]): z.ZodType {
  const own = codes.flatMap((code) => ownBodies.get(code) ?? [])
  if (own.length === 0) return errorRecord
  const [only] = own
  return only && codes.length === 1 ? only : z.union([errorRecord, ...own])
}

/** The codes that any route of this kind may answer with, besides its own. */
export function impliedErrors(declared: Omit<Route, 'handle'>): ErrorCode[] {
  // Every route may answer `validation_failed`, because those that cannot be rehearsed refuse `dry_run`.
  const codes: ErrorCode[] = ['validation_failed', ...(declared.offline ? [] : (['unavailable'] as const))]
  if (declared.params) codes.push('not_found')
  if (declared.body) codes.push('invalid_json', 'payload_too_large', 'unsupported_media_type')
  if (declared.takes) codes.push('payload_too_large', 'unsupported_media_type')
  if (declared.auth !== 'public') codes.push('token_missing', 'token_invalid', 'token_expired')
  // A replaced token of a service account is unknown, not revoked, and an assertion cannot be revoked.
  if (declared.auth !== 'public' && !/consumer|service_account/.test(declared.auth)) codes.push('token_revoked')
  if (isAdminDoor(declared.auth)) codes.push('system_admin_required', 'admin_app_not_allowed')
  if (limitOf(declared)) codes.push('rate_limited')
  if (declared.scope) codes.push('scope_required')
  if (declared.auth === 'service') codes.push('service_caller_required', 'admin_app_not_allowed')
  return codes
}
