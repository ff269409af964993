// Who may call what: every route by every kind of caller. The routes are listed by hand, so that someone has to decide about a
// new route, and a route that is opened to other callers is noticed.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { listRootRoutes, listRoutes } from '../../packages/server/src/app.ts'
import { serviceScopes } from '../../packages/server/src/lib/authority.ts'
import { assertionOf } from '../support/consumer.ts'
import { addMember, assignRole, buildOrganization } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { forgeToken } from '../support/forge-token.ts'
import { everyRow, markVerified } from '../support/rows.ts'
import { buildApp, buildUser, callHttp, claimsOf, type Json } from '../support/service.ts'

const service = serviceFixture({ AUTH_ADMIN_APP_CODES: 'authctl,console' })

const scopes = serviceScopes.map((scope) => `service account with ${scope}` as const)
const callers = [
  'nobody',
  'garbage',
  'a user',
  'an org_admin',
  'an org_admin of another organization',
  'a system_admin',
  'a system_admin through another app',
  'a system_admin through an inactive app',
  'a system_admin of before',
  'an auditor',
  'an auditor through another app',
  'an auditor of before',
  'a help_desk',
  'a help_desk through another app',
  'a super_admin',
  ...scopes,
  'a service account that is gone',
  'a consumer',
  'a session that has ended',
  'a machine token',
] as const
type Caller = (typeof callers)[number]

/** The error code that each caller gets, or `open` if the call gets as far as its input. */
type Verdicts = Record<Caller, string>

const everybody = (verdict: string): Verdicts => Object.fromEntries(callers.map((caller) => [caller, verdict])) as Verdicts
/** Verdicts for callers that are not users, on a route for users. */
const noUser = {
  nobody: 'token_missing',
  garbage: 'token_invalid',
  'a service account that is gone': 'token_invalid',
  'a consumer': 'token_invalid',
  'a session that has ended': 'token_revoked',
  'a machine token': 'token_invalid',
} as const
/** Users who administer, but are no system_admin. */
const others = (verdict: string) =>
  Object.fromEntries(
    callers.filter((caller) => /auditor|help_desk|super_admin/.test(caller)).map((caller) => [caller, verdict]),
  ) as Record<Extract<Caller, `${string}${'auditor' | 'help_desk' | 'super_admin'}${string}`>, string>
const accounts = (verdict: string) =>
  Object.fromEntries(scopes.map((scope) => [scope, verdict])) as Record<(typeof scopes)[number], string>

const ofUsers: Verdicts = { ...everybody('open'), ...accounts('token_invalid'), ...noUser }
const ofSystemAdmins: Verdicts = {
  ...everybody('system_admin_required'),
  'a system_admin': 'open',
  'a system_admin through another app': 'admin_app_not_allowed',
  'a system_admin through an inactive app': 'admin_app_not_allowed',
  ...noUser,
}
const ofReaders: Verdicts = {
  ...ofSystemAdmins,
  'an auditor': 'open',
  'an auditor through another app': 'admin_app_not_allowed',
  'service account with admin:read': 'open',
}
const helpDesk = { 'a help_desk': 'open', 'a help_desk through another app': 'admin_app_not_allowed' }
const ofHelpDeskReaders: Verdicts = { ...ofReaders, ...helpDesk }
const ofHelpDesk: Verdicts = { ...ofSystemAdmins, ...helpDesk }
const ofConsumers: Verdicts = { ...everybody('token_invalid'), nobody: 'token_missing', 'a consumer': 'open' }

/**
 * Routes by who may call them, with the verdict for each caller. If the use case itself decides,
 * `body` and `query` get the call that far.
 */
const kinds: Record<string, { verdicts: Verdicts; body?: Json | (() => Json); query?: string; routes: string[] }> = {
  'anybody, with the bearer ignored': {
    verdicts: everybody('open'),
    routes: [
      'GET /health',
      'GET /ready',
      'GET /openapi.json',
      'POST /auth/register',
      'POST /auth/login',
      'POST /auth/access-requests',
      'POST /auth/refresh',
      'POST /auth/logout',
      'POST /auth/password/reset',
      'POST /auth/password/forgot',
      'POST /auth/email/resend',
      'POST /auth/email/verify',
      'POST /auth/email/disown',
      'POST /auth/email/change/confirm',
      'POST /auth/email/change/undo',
      'POST /auth/me/delete/confirm',
      'POST /auth/magic-link',
      'POST /auth/email-code',
      'POST /auth/magic-link/consume',
      'POST /auth/email-code/consume',
      'GET /auth/sso/{provider}/start',
      'GET /auth/sso/{provider}/callback',
      'POST /auth/sso/token',
    ],
  },
  'users, for themselves': {
    verdicts: ofUsers,
    routes: [
      'GET /auth/me',
      'PATCH /auth/me',
      'DELETE /auth/me',
      'POST /auth/email/change',
      'POST /auth/password/change',
      'POST /auth/2fa/setup',
      'POST /auth/2fa/activate',
      'POST /auth/2fa/disable',
      'GET /auth/sessions',
      'DELETE /auth/sessions/{sessionId}',
      'GET /auth/me/export',
      'GET /auth/trusted-browsers',
      'DELETE /auth/trusted-browsers/{browserId}',
      'POST /auth/logout-all',
      'GET /auth/identities',
      'POST /auth/identities/link',
      'DELETE /auth/identities/{identityId}',
      'POST /auth/invitations/accept',
    ],
  },
  'org_admins, in their organization': {
    verdicts: {
      ...everybody('organization_admin_required'),
      'an org_admin': 'open',
      ...accounts('token_invalid'),
      ...noUser,
    },
    body: { role_codes: ['org_member'] },
    routes: [
      'GET /organizations/{organizationId}/members',
      'PUT /organizations/{organizationId}/members/{userId}',
      'DELETE /organizations/{organizationId}/members/{userId}',
      'GET /organizations/{organizationId}/invitations',
      'POST /organizations/{organizationId}/invitations',
      'DELETE /organizations/{organizationId}/invitations/{invitationId}',
    ],
  },
  system_admins: {
    verdicts: ofSystemAdmins,
    query: 'nope=1',
    routes: [
      'DELETE /admin/lockouts/{key}',
      'POST /admin/tokens/trace',
      'POST /admin/users',
      'POST /admin/users/import',
      'PATCH /admin/users/{userId}',
      'DELETE /admin/users/{userId}',
      'POST /admin/users/{userId}/offboard',
      'POST /admin/users/offboard',
      'DELETE /admin/users/{userId}/passkeys/{passkeyId}',
      'DELETE /admin/users/{userId}/trusted-browsers/{browserId}',
      'DELETE /admin/users/{userId}/identities/{identityId}',
      'POST /admin/users/{userId}/apps/{appId}',
      'POST /admin/access-requests/{requestId}/approve',
      'POST /admin/access-requests/{requestId}/deny',
      'DELETE /admin/users/{userId}/apps/{appId}',
      'POST /admin/users/{userId}/roles',
      'DELETE /admin/users/{userId}/roles/{roleCode}',
      'PUT /admin/users/{userId}/namespace',
      'PATCH /admin/users/{userId}/namespaces',
      'GET /admin/namespaces',
      'GET /admin/namespaces/{namespace}/collisions',
      'PUT /admin/apps/{appId}/logo',
      'DELETE /admin/apps/{appId}/logo',
      'POST /admin/apps/{appId}/test-mail',
      'POST /admin/apps/{appId}/client-secrets',
      'DELETE /admin/apps/{appId}/client-secrets/{secretId}',
      'POST /admin/signing-keys/rotate',
      'POST /admin/apps/{appId}/signing',
      'DELETE /admin/apps/{appId}',
      'POST /admin/apps/{appId}/grants',
      'POST /admin/apps/{appId}/grants/revoke',
      'POST /admin/apps/{appId}/webhooks/test',
      'POST /admin/webhook-deliveries/{deliveryId}/redeliver',
      'POST /admin/webhook-deliveries/redeliver',
      'POST /admin/organizations',
      'PATCH /admin/organizations/{organizationId}',
      'DELETE /admin/organizations/{organizationId}',
      'PUT /admin/organizations/{organizationId}/members/{userId}',
      'DELETE /admin/organizations/{organizationId}/members/{userId}',
      'POST /admin/organizations/{organizationId}/invitations',
      'DELETE /admin/organizations/{organizationId}/invitations/{invitationId}',
      'DELETE /admin/roles/{roleCode}',
      'DELETE /admin/roles/{roleCode}/permissions/{permission}',
      'POST /admin/service-accounts',
      'PATCH /admin/service-accounts/{serviceAccountId}',
      'POST /admin/service-accounts/{serviceAccountId}/rotate',
      'DELETE /admin/service-accounts/{serviceAccountId}',
      'PUT /admin/service-accounts/{serviceAccountId}/permissions',
      'PATCH /admin/service-accounts/{serviceAccountId}/permissions',
      'POST /admin/sso-providers',
      'PATCH /admin/sso-providers/{providerCode}',
      'DELETE /admin/sso-providers/{providerCode}',
    ],
  },
  readers: {
    verdicts: ofReaders,
    query: 'nope=1',
    routes: [
      'GET /admin/settings',
      'GET /admin/servers',
      'GET /admin/secrets',
      'GET /admin/stats',
      'GET /admin/apps/{appId}/without-second-factor',
      'GET /admin/audit/archive',
      'GET /admin/audit/verify',
      'GET /admin/users/{userId}/export',
      'GET /admin/access-requests',
      'GET /admin/apps',
      'GET /admin/apps/{appId}',
      'GET /admin/apps/{appId}/logo',
      'GET /admin/apps/{appId}/mails/{mail}',
      'GET /admin/apps/{appId}/client-secrets',
      'GET /admin/signing-keys',
      'GET /admin/apps/{appId}/signing',
      'GET /admin/apps/{appId}/users',
      'GET /admin/apps/{appId}/webhook-deliveries',
      'GET /admin/organizations',
      'GET /admin/organizations/{organizationId}',
      'GET /admin/organizations/{organizationId}/members',
      'GET /admin/organizations/{organizationId}/invitations',
      'GET /admin/roles',
      'GET /admin/roles/{roleCode}',
      'GET /admin/roles/{roleCode}/permissions',
      'GET /admin/permissions',
      'GET /admin/service-accounts',
      'GET /admin/sso-providers',
      'GET /admin/sso-providers/{providerCode}',
    ],
  },
  'readers, and the help desk': {
    verdicts: ofHelpDeskReaders,
    query: 'nope=1',
    routes: [
      'GET /admin/explain',
      'GET /admin/lockouts',
      'GET /admin/audit',
      'GET /admin/audit/{id}',
      'GET /admin/mails',
      'GET /admin/mails/{mailId}',
      'GET /admin/users',
      'GET /admin/users/{userId}',
      'GET /admin/users/{userId}/sessions',
      'GET /admin/users/{userId}/identities',
      'GET /admin/users/{userId}/passkeys',
      'GET /admin/users/{userId}/trusted-browsers',
      'GET /admin/users/{userId}/apps',
      'GET /admin/users/{userId}/roles',
    ],
  },
  'the help desk, which helps users': {
    verdicts: ofHelpDesk,
    query: 'nope=1',
    routes: [
      'POST /admin/users/{userId}/unlock',
      'POST /admin/users/{userId}/logout',
      'DELETE /admin/users/{userId}/sessions/{sessionId}',
      'DELETE /admin/users/{userId}/2fa',
      'POST /admin/mails/{mailId}/resend',
    ],
  },
  'callers who configure': {
    verdicts: { ...ofSystemAdmins, 'service account with admin:configure': 'open' },
    query: 'nope=1',
    routes: [
      'POST /admin/apps',
      'PATCH /admin/apps/{appId}',
      'POST /admin/roles',
      'PATCH /admin/roles/{roleCode}',
      'PUT /admin/roles/{roleCode}/permissions',
      'POST /admin/roles/{roleCode}/permissions',
    ],
  },
  'the service that owns the permissions': {
    verdicts: {
      ...ofSystemAdmins,
      'a user': 'service_caller_required',
      'an org_admin': 'service_caller_required',
      'an org_admin of another organization': 'service_caller_required',
      'a system_admin of before': 'service_caller_required',
      ...others('service_caller_required'),
      ...accounts('scope_required'),
      'service account with permissions:register': 'open',
    },
    query: 'dry_run=true',
    body: { service: 'notes', permissions: [] },
    routes: ['POST /admin/permissions/register'],
  },
  'backends, with the assertion of their app': {
    verdicts: ofConsumers,
    query: 'nope=1',
    routes: ['GET /consumer', 'GET /revocations', 'GET /revocations/stream'],
  },
  'readers of user changes': {
    verdicts: {
      ...ofConsumers,
      ...accounts('scope_required'),
      'a consumer': 'own_key_required',
      'service account with users:changes': 'open',
    },
    routes: ['GET /consumer/changes'],
  },
  'callers of introspection': {
    verdicts: { ...ofConsumers, ...accounts('scope_required'), 'service account with tokens:introspect': 'open' },
    body: { token: 'anything' },
    routes: ['POST /auth/introspect'],
  },
  'service accounts that call another backend': {
    verdicts: {
      ...everybody('token_invalid'),
      ...accounts('scope_required'),
      nobody: 'token_missing',
      'service account with tokens:issue': 'open',
    },
    body: () => ({ grant_type: 'client_credentials', app_code: machineApp }),
    routes: ['POST /auth/token'],
  },
}

/** Every code that refuses a caller for who they are. */
const gateCodes: ReadonlySet<string> = new Set(
  Object.values(kinds).flatMap(({ verdicts }) =>
    Object.values(verdicts).concat('service_mismatch', 'token_expired', 'forbidden'),
  ),
)

let organization: Json
/** The code of the app that service accounts may get tokens for. */
let machineApp: string
let bearers: Record<Caller, string | undefined>

async function buildBearers(): Promise<typeof bearers> {
  const open = await buildApp(service, { auto_grant_on_signup: true, machine_tokens: true })
  machineApp = open.code
  const closing = await buildApp(service)
  const tokenOf = async (user: Json, through: string): Promise<string> =>
    (await service.login(user.email, through)).body.access_token
  const orgAdmin = async (organizationId: string): Promise<string> => {
    const { user, access_token } = await buildUser(service, open)
    await addMember(service, organizationId, user.id, ['org_admin'])
    return access_token
  }
  const accountWith = async (granted: readonly string[]): Promise<Json> => {
    const body = { name: randomUUID(), service: 'notes', scopes: granted, app_codes: [open.code] }
    return (await service.admin('POST', '/admin/service-accounts', { body })).body
  }
  const gone = await accountWith(serviceScopes)
  await service.admin('DELETE', `/admin/service-accounts/${gone.id}`)
  const machineToken = async ({ token }: Json): Promise<string> => {
    const body = { grant_type: 'client_credentials', app_code: open.code }
    return (await service.call('POST', '/auth/token', { token, body })).body.access_token
  }
  const holderOf = async (role: string): Promise<Json> => {
    const { user } = await buildUser(service, open)
    await markVerified(service, user.id)
    await assignRole(service, user.id, role)
    if (role !== 'system_admin') await service.admin('POST', `/admin/users/${user.id}/apps/authctl`)
    return user
  }
  const admin = await holderOf('system_admin')
  const [auditor, helper] = [await holderOf('auditor'), await holderOf('help_desk')]
  // Losing a right ends the tokens that claim it. A consumer holds the secret, so it can sign one as if issued afterwards.
  const tokenOfFormer = async (role: string, through: string): Promise<string> => {
    const former = await holderOf(role)
    const claims = claimsOf(await tokenOf(former, through))
    await service.admin('DELETE', `/admin/users/${former.id}/roles/${role}`)
    return forgeToken({ ...claims, tv: claims.tv + 1 })
  }
  await service.admin('POST', `/admin/users/${admin.id}/apps/${closing.code}`)
  const throughClosing = await tokenOf(admin, closing.code)
  await service.admin('PATCH', `/admin/apps/${closing.code}`, { body: { status: 'inactive' } })
  const ofClosed = forgeToken({ ...claimsOf(throughClosing), iat: Math.floor(service.deps.clock() / 1000) + 5 })
  const { access_token: ended, refresh_token } = await buildUser(service, open)
  await service.call('POST', '/auth/logout', { body: { refresh_token } })
  const withScopes = await Promise.all(
    serviceScopes.map(async (scope) => [`service account with ${scope}`, (await accountWith([scope])).token] as const),
  )
  return {
    nobody: undefined,
    garbage: 'garbage',
    'a user': (await buildUser(service, open)).access_token,
    'an org_admin': await orgAdmin(organization.id),
    'an org_admin of another organization': await orgAdmin((await buildOrganization(service)).id),
    'a system_admin': await tokenOf(admin, 'authctl'),
    'a system_admin through another app': await tokenOf(admin, open.code),
    'a system_admin through an inactive app': ofClosed,
    'a system_admin of before': await tokenOfFormer('system_admin', open.code),
    'an auditor': await tokenOf(auditor, 'authctl'),
    'an auditor through another app': await tokenOf(auditor, open.code),
    'an auditor of before': await tokenOfFormer('auditor', 'authctl'),
    'a help_desk': await tokenOf(helper, 'authctl'),
    'a help_desk through another app': await tokenOf(helper, open.code),
    'a super_admin': await tokenOf(await holderOf('super_admin'), 'authctl'),
    ...(Object.fromEntries(withScopes) as Record<(typeof scopes)[number], string>),
    'a service account that is gone': gone.token,
    // Created for each call, because it is short-lived.
    get 'a consumer'() {
      return assertionOf(open)
    },
    'a session that has ended': ended,
    'a machine token': await machineToken(await accountWith(['tokens:issue'])),
  }
}

beforeAll(async () => {
  organization = await buildOrganization(service)
  bearers = await buildBearers()
})

/** All rows that a refused call must not change. */
async function rowsNow(): Promise<Json> {
  const { audit_events: _, rate_limits: __, consumer_secrets: ___, service_accounts: ____, ...rows } = await everyRow(service)
  return rows
}

async function verdictFor(
  route: string,
  caller: Caller,
  { body, query }: { body?: Json | (() => Json); query?: string },
): Promise<string> {
  const [method, path] = route.split(' ') as [string, string]
  const named = path.replace(/\{(\w+)\}/g, (_, name) => (name === 'organizationId' ? organization.id : randomUUID()))
  const content = method === 'GET' || method === 'DELETE' ? {} : { body: (typeof body === 'function' ? body() : body) ?? {} }
  const { status, body: reply } = await service.call(method, query ? `${named}?${query}` : named, {
    ...content,
    token: bearers[caller],
  })
  expect(status).toBeLessThan(500)
  return gateCodes.has(reply?.code) ? reply.code : 'open'
}

// covers endpoint-admin
test('every route is in exactly one row of the table', () => {
  const declared = listRoutes().map(({ method, path }) => `${method} ${path}`)
  expect(
    Object.values(kinds)
      .flatMap(({ routes }) => routes)
      .sort(),
  ).toEqual(declared.sort())
})

// covers endpoint-admin service-app-registered permissions-callers grant-callers pools-callers auth-admin auth-sso
describe.each(Object.entries(kinds))('routes for %s', (_, { verdicts, routes, ...input }) => {
  const refused = callers.filter((caller) => verdicts[caller] !== 'open')
  const welcome = callers.filter((caller) => verdicts[caller] === 'open')

  test.each(routes)('%s answers each kind of caller as its row says', async (route) => {
    const found: Record<string, string> = {}
    const before = await rowsNow()
    for (const caller of refused) found[caller] = await verdictFor(route, caller, input)
    expect(await rowsNow()).toEqual(before)
    for (const caller of welcome) {
      found[caller] = await verdictFor(route, caller, input)
      // These routes end the sessions of other callers in the table that are the same user.
      if (['POST /auth/logout-all', 'DELETE /auth/me'].includes(route)) bearers = await buildBearers()
    }
    expect(found).toEqual(verdicts)
  })
})

/** The routes of the sign-in page, with a body that gets each call as far as its input. */
const ofSignInPage: Record<string, Json> = {
  'GET /oauth/authorize': undefined,
  'POST /oauth/authorize': '',
  'GET /oauth/return': undefined,
  'GET /oauth/mail': undefined,
  'POST /oauth/token': { grant_type: 'refresh_token', refresh_token: 'unknown', client_id: 'unknown' },
  'POST /oauth/revoke': { token: 'unknown' },
  'GET /oauth/logout': undefined,
  'POST /oauth/logout': '',
  'POST /oauth/device_authorization': { client_id: 'unknown' },
  'GET /device': undefined,
  'POST /device': '',
  'GET /oauth/jwks': undefined,
  'GET /.well-known/oauth-authorization-server': undefined,
  'GET /.well-known/openid-configuration': undefined,
}

async function askAtRoot(route: string, caller: Caller, body: Json): Promise<{ status: number; body: Json }> {
  const [method, path] = route.split(' ') as [string, string]
  const isForm = body === ''
  const type: Record<string, string> = isForm ? { 'content-type': 'application/x-www-form-urlencoded' } : {}
  const headers = { ...type, 'sec-fetch-site': 'same-origin' }
  return callHttp(service.url + path, method, { headers, token: bearers[caller], ...(isForm ? {} : { body }) })
}

describe('the routes of the sign-in page', () => {
  test('every route of the sign-in page is in the table', () => {
    // Userinfo looks at its bearer and at nothing else: openid-connect.test.ts.
    const declared = listRootRoutes().filter(({ tag, path }) => tag === 'Sign-in page' && path !== '/oauth/userinfo')
    expect(Object.keys(ofSignInPage).sort()).toEqual(declared.map(({ method, path }) => `${method} ${path}`).sort())
  })

  test.each(Object.entries(ofSignInPage))('%s ignores the bearer token', async (route, body) => {
    // The first call of all makes the keys.
    await askAtRoot('GET /oauth/jwks', 'nobody', undefined)
    const before = await rowsNow()
    const nobody = await askAtRoot(route, 'nobody', body)
    expect(nobody.status).toBeLessThan(500)
    for (const caller of callers) {
      const reply = await askAtRoot(route, caller, body)
      expect([caller, reply.status, reply.body.code]).toEqual([caller, nobody.status, nobody.body.code])
    }
    expect(await rowsNow()).toEqual(before)
  })

  test('POST /oauth/token gives a machine token only to a service account with tokens:issue', async () => {
    const body = { grant_type: 'client_credentials', app_code: machineApp }
    for (const caller of callers) {
      const verdict = kinds['service accounts that call another backend']!.verdicts[caller]
      const reply = await askAtRoot('POST /oauth/token', caller, body)
      expect([caller, reply.body.code ?? 'open']).toEqual([caller, verdict])
      expect([caller, reply.status]).toEqual([caller, { open: 200, scope_required: 400 }[verdict] ?? 401])
    }
  })
})
