// What a token opens after something has happened to its user, app, grant, roles or membership:
// at each call, what the gate would say now.
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { assertionOf } from '../support/consumer.ts'
import { addMember, assignRole, buildOrganization, buildRole, closeAccount, type Organization } from '../support/factories.ts'
import { appFixture, fixture, serviceFixture } from '../support/fixtures.ts'
import { forgeToken } from '../support/forge-token.ts'
import { samples } from '../support/lane.ts'
import { buildApp, buildUser, claimsOf, type Json, PASSWORD } from '../support/service.ts'

const service = serviceFixture({ AUTH_RATE_LIMIT_USER: 'off' }, { frozen: true })
const other = appFixture(service)
const role = fixture(async () => ({ code: await buildRole(service, 'global') }))

/** What has happened since a login, which token the caller then sends, and which backend asks about it. */
const choices = {
  app: ['active', 'active', 'active', 'active', 'inactive'],
  pool: ['home', 'home', 'tag', 'tag', 'left'],
  account: ['active', 'active', 'active', 'active', 'active', 'active', 'active', 'suspended', 'activated again', 'deleted'],
  access: ['active', 'active', 'active', 'active', 'expired', 'expired', 'revoked', 'given again'],
  roles: ['none', 'none', 'another', 'another no longer', 'system_admin', 'system_admin no longer'],
  membership: ['none', 'none', 'kept', 'changed', 'lost', 'lost'],
  session: [
    'goes on',
    'goes on',
    'goes on',
    'was refreshed',
    'was refreshed',
    'was refreshed',
    'logged out',
    'logged out everywhere',
    'password changed',
  ],
  token: ['own', 'own', 'own', 'more roles', 'tv too high', 'too long a life', 'another user', 'another app', 'another secret'],
  asker: ['consumer', 'service account', 'service account', 'service account of another app'],
} as const
type Situation = { [K in keyof typeof choices]: (typeof choices)[K][number] }

/** The same situations in each run, picked by a linear congruential generator. */
function situations(count: number): Situation[] {
  let state = 20_261_122
  const pick = <T>(values: readonly T[]): T => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return values[Math.floor((state / 2_147_483_648) * values.length)]!
  }
  const drawn = () =>
    Object.fromEntries(Object.entries(choices).map(([name, values]) => [name, pick<string>(values)])) as Situation
  // Only a backend of an active app may ask.
  return Array.from({ length: count }, drawn).map((situation) => ({
    ...situation,
    asker: situation.asker === 'consumer' && situation.app === 'inactive' ? 'service account' : situation.asker,
  }))
}

// --- The contract, from its wording only ---

/** Raising a minimum token version ends the sessions below it, even if what was taken is given back. */
const hasEnded = ({ account, access, session }: Situation): boolean =>
  account !== 'active' ||
  ['revoked', 'given again'].includes(access) ||
  ['logged out', 'logged out everywhere', 'password changed'].includes(session)

/** The user now has less than the token says. Until it is renewed, it opens what it did before, or nothing. */
const hasShrunk = ({ app, pool, roles, membership }: Situation): boolean =>
  app === 'inactive' || pool === 'left' || roles.endsWith('no longer') || ['changed', 'lost'].includes(membership)

/** A token ends with its grant. */
const hasExpired = ({ access }: Situation): boolean => access === 'expired'

/** The gate: app, pools, membership, grant. A system_admin needs a grant like any user. */
function expectedAtGate({ app, pool, membership, access }: Situation): string {
  if (app === 'inactive') return 'app_inactive'
  if (pool === 'left') return 'app_access_denied'
  if (membership === 'lost') return 'organization_membership_required'
  return ['active', 'given again'].includes(access) ? 'granted' : 'app_access_denied'
}

function expectedAtRefresh(situation: Situation): string {
  return hasEnded(situation) ? 'invalid_refresh_token' : expectedAtGate(situation)
}

/** A login does not depend on the session, and finds only users in the app's pools. */
function expectedAtLogin(situation: Situation): string {
  const { app, pool, account } = situation
  if (app === 'active' && (pool === 'left' || account === 'deleted')) return 'invalid_credentials'
  if (app === 'active' && account === 'suspended') return 'account_suspended'
  return expectedAtGate(situation)
}

function expectedAsBearer(situation: Situation): string[] {
  const isForged = !['own', 'more roles'].includes(situation.token)
  if (hasExpired(situation)) return isForged ? ['token_expired', 'token_invalid'] : ['token_expired']
  if (isForged) return ['token_invalid']
  if (hasEnded(situation)) return ['token_revoked']
  return hasShrunk(situation) ? ['open', 'token_revoked'] : ['open']
}

/** Whether the asker gets to see a token that is still valid: not after the end of its grant. */
function isTold({ asker, membership, access }: Situation): boolean {
  return asker !== 'service account of another app' && membership !== 'lost' && access !== 'expired'
}

/** The roles in the database, whatever a token says. */
function expectedRoles({ membership, roles }: Situation, another: string): string[] {
  if (membership !== 'none') return [membership === 'changed' ? 'org_admin' : 'org_member']
  if (roles === 'system_admin') return ['base_user', 'system_admin']
  return roles === 'another' ? ['base_user', another].sort() : ['base_user']
}

// --- Setup ---

interface Case {
  situation: Situation
  app: Json
  user: Json
  organization: Organization | undefined
  accessToken: string
  refreshToken: string
  asker: string
}

const ask = async (method: string, path: string, body?: Json): Promise<Json> => {
  const reply = await service.admin(method, `/admin${path}`, { body })
  expect(reply.status, `${method} ${path} ${JSON.stringify(reply.body)}`).toBeLessThan(300)
  return reply.body
}

/** Logs a user in, then lets the situation happen. */
async function arrange(situation: Situation): Promise<Case> {
  const app = await buildApp(service, { registration_namespace: `pool-${randomUUID()}`, read_namespaces: ['readers'] })
  const { user } = await buildUser(service, app)
  const grant = `/users/${user.id}/apps/${app.id}`
  if (situation.pool !== 'home') await ask('PUT', `/users/${user.id}/namespace`, { namespace: 'elsewhere' })
  if (situation.roles.startsWith('system_admin')) await assignRole(service, user.id, 'system_admin')
  if (situation.roles.startsWith('another')) await assignRole(service, user.id, role.code)
  const expires_at = new Date(service.deps.clock() + 60_000).toISOString()
  await ask('POST', grant, situation.access === 'expired' ? { expires_at } : {})
  const organization = situation.membership === 'none' ? undefined : await buildOrganization(service)
  if (organization) await addMember(service, organization.id, user.id, ['org_member'])

  const within = organization ? { organization_id: organization.id } : {}
  const login = (await service.login(user.email, app.code, within)).body
  const elsewhere = situation.session === 'password changed' ? (await service.login(user.email, app.code)).body : undefined
  const tokens = await happen(situation, { app, user, organization, grant, elsewhere, login })
  return {
    situation,
    app,
    user,
    organization,
    accessToken: await tokenOf(situation, tokens.access_token, app),
    refreshToken: tokens.refresh_token,
    asker: await askerOf(situation, app),
  }
}

/** Does everything in the situation except what takes time. Returns the tokens that the client then has. */
async function happen(
  situation: Situation,
  { app, user, organization, grant, elsewhere, login }: Json & { organization: Organization | undefined },
): Promise<Json> {
  const { session, membership, roles, access, pool, account } = situation
  const token = login.access_token
  const refresh_token = login.refresh_token
  const tokens =
    session === 'was refreshed' ? (await service.call('POST', '/auth/refresh', { body: { refresh_token } })).body : login
  if (session === 'logged out') await service.call('POST', '/auth/logout', { body: { refresh_token } })
  if (session === 'logged out everywhere') await service.call('POST', '/auth/logout-all', { token })
  const passwords = { current_password: PASSWORD, new_password: 'another password' }
  if (elsewhere) await service.call('POST', '/auth/password/change', { token: elsewhere.access_token, body: passwords })
  if (membership === 'changed') await addMember(service, organization!.id, user.id, ['org_admin'])
  if (membership === 'lost') await ask('DELETE', `/organizations/${organization!.id}/members/${user.id}`)
  const lost = { 'system_admin no longer': 'system_admin', 'another no longer': role.code }[roles as string]
  if (lost) await ask('DELETE', `/users/${user.id}/roles/${lost}`)
  if (['revoked', 'given again'].includes(access)) await ask('DELETE', grant)
  if (access === 'given again') await ask('POST', grant)
  if (pool === 'left') await ask('PATCH', `/users/${user.id}/namespaces`, { remove: ['readers'] })
  if (account !== 'active') await closeAccount(service, user.id, account === 'deleted' ? 'deleted' : 'suspended')
  if (account === 'activated again') await ask('PATCH', `/users/${user.id}`, { status: 'active' })
  if (situation.app === 'inactive') await ask('PATCH', `/apps/${app.id}`, { status: 'inactive' })
  return tokens
}

/** The token to send: the user's own, or a forged one. Every consumer holds the shared secret, so it could sign most of these. */
async function tokenOf({ token }: Situation, own: string, app: Json): Promise<string> {
  const claims = claimsOf(own)
  switch (token) {
    case 'own':
      return own
    case 'more roles':
      return forgeToken({ ...claims, roles: ['system_admin'], permissions: ['everything:all'], email: 'boss@example.com' })
    case 'tv too high':
      return forgeToken({ ...claims, tv: claims.tv + 50 })
    case 'too long a life':
      return forgeToken({ ...claims, exp: claims.iat + 3_601 })
    case 'another user':
      return forgeToken({ ...claims, uid: (await buildUser(service, other)).user.id })
    case 'another app':
      return forgeToken({ ...claims, aud: other.code, app_id: other.id, app_code: other.code })
    case 'another secret':
      return forgeToken(claims, { secret: `of ${app.code}, and of nobody else here` })
  }
}

async function askerOf({ asker }: Situation, app: Json): Promise<string> {
  if (asker === 'consumer') return assertionOf(app, { now: service.deps.clock() })
  const app_codes = [asker === 'service account' ? app.code : other.code]
  const body = { name: randomUUID(), service: 'notes', scopes: ['tokens:introspect'], app_codes }
  return (await ask('POST', '/service-accounts', body)).token
}

const outcomeOf = ({ status, body }: { status: number; body: Json }, success: string): string =>
  status === 200 ? success : body.code

test('bearer, introspection, explain and refresh agree with the contract, whatever has happened since the login', {
  timeout: 300_000,
}, async () => {
  const seen = {
    bearer: new Set<string>(),
    introspection: new Set<boolean>(),
    login: new Set<string>(),
    refresh: new Set<string>(),
  }
  for (const situation of situations(samples(90))) {
    const { app, user, organization, accessToken, refreshToken, asker } = await arrange(situation)
    if (situation.access === 'expired') service.advance(61)
    const label = JSON.stringify(situation)

    const bearer = outcomeOf(await service.call('GET', '/auth/me', { token: accessToken }), 'open')
    expect(expectedAsBearer(situation), label).toContain(bearer)

    const token = situation.asker === 'consumer' ? assertionOf(app, { now: service.deps.clock() }) : asker
    const introspection = await service.call('POST', '/auth/introspect', { token, body: { token: accessToken } })
    const isActive = bearer === 'open' && isTold(situation)
    expect([introspection.status, introspection.body.active], label).toEqual([200, isActive])
    const roles = expectedRoles(situation, role.code)
    if (isActive) expect(introspection.body, label).toMatchObject({ sub: user.id, email: user.email, roles })
    else expect(introspection.body, label).toEqual({ active: false })

    const query = new URLSearchParams({ user_id: user.id, app: app.code })
    if (organization) query.set('organization_id', organization.id)
    const explained = (await service.admin('GET', `/admin/explain?${query}`)).body
    expect(explained.outcome, label).toBe(expectedAtLogin(situation))

    const refreshed = await service.call('POST', '/auth/refresh', { body: { refresh_token: refreshToken } })
    const refresh = outcomeOf(refreshed, 'granted')
    expect(refresh, label).toBe(expectedAtRefresh(situation))
    if (refresh === 'granted') {
      expect(explained.outcome, label).toBe('granted')
      const { sid, iat, nbf, exp, jti, auth_time, ...lasting } = claimsOf(refreshed.body.access_token)
      expect(lasting.roles, label).toEqual(roles)
      expect(explained.claims, label).toMatchObject(lasting)
    }
    seen.bearer.add(bearer)
    seen.introspection.add(isActive)
    seen.login.add(explained.outcome)
    seen.refresh.add(refresh)
  }
  expect([...seen.bearer].sort()).toEqual(['open', 'token_expired', 'token_invalid', 'token_revoked'])
  expect(seen.introspection.size).toBe(2)
  const refusals = ['app_access_denied', 'app_inactive', 'organization_membership_required']
  expect([...seen.login]).toEqual(expect.arrayContaining(['granted', 'invalid_credentials', 'account_suspended', ...refusals]))
  // One of the rarer refusals may not be drawn.
  expect([...refusals, 'granted', 'invalid_refresh_token']).toEqual(expect.arrayContaining([...seen.refresh]))
  expect(seen.refresh.size).toBeGreaterThanOrEqual(4)
})
