// Nobody who administers a part comes to the rest: whatever calls they make, one after the other, what is not theirs stays as it is.
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { listRoutes } from '../../packages/server/src/app.ts'
import { assignRole, buildOrganization, buildRole, registerPermissions } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { samples } from '../support/lane.ts'
import { everyRow } from '../support/rows.ts'
import { buildApp, buildUser, type Json } from '../support/service.ts'
import { enableTwoFactor } from '../support/totp.ts'

const service = serviceFixture({ AUTH_ADMIN_APP_CODES: 'authctl', AUTH_RATE_LIMIT_USER: 'off' })

/** What every call may write. */
const always = [
  'audit_events',
  'audit_batches',
  'audit_chain',
  'rate_limits',
  'generations',
  'feed_horizons',
  'outbox',
  'sqlite_sequence',
]
/** What helping a user without a further role writes. */
const helping = [
  'sessions',
  'refresh_tokens',
  'revocations',
  'users',
  'user_apps',
  'second_factors',
  'recovery_codes',
  'trusted_browsers',
  'browser_sessions',
  'lockouts',
  'user_changes',
]

interface World {
  token: Record<'auditor' | 'help_desk' | 'admin:read' | 'admin:configure', string>
  ids: Record<string, string[]>
  /** The ids of users who hold a further role. */
  holders: string[]
}

async function buildWorld(): Promise<World> {
  await registerPermissions(service, 'orders', ['orders:read', 'orders:refund'])
  const shop = await buildApp(service, { auto_grant_on_signup: true })
  const person = async (role?: string) => {
    const { user, access_token } = await buildUser(service, shop as { code: string })
    await enableTwoFactor(service, access_token)
    if (role) await assignRole(service, user.id, role)
    return user
  }
  const signIn = async (role: string) => {
    const { user } = await buildUser(service, shop as { code: string })
    await assignRole(service, user.id, role)
    await service.admin('POST', `/admin/users/${user.id}/apps/authctl`)
    return { user, token: (await service.login(user.email, 'authctl')).body.access_token as string }
  }
  const account = async (scope: string) => {
    const body = { name: randomUUID(), service: 'orders', scopes: [scope] }
    return (await service.admin('POST', '/admin/service-accounts', { body })).body
  }
  const [auditor, helper] = [await signIn('auditor'), await signIn('help_desk')]
  const [reader, configurer] = [await account('admin:read'), await account('admin:configure')]
  const [plain, boss] = [await person(), await person('system_admin')]
  const holders = [auditor.user.id, helper.user.id, boss.id]
  const sessions = await service.deps.db('sessions').whereIn('user_id', [plain.id, boss.id, helper.user.id]).pluck('id')
  return {
    token: { auditor: auditor.token, help_desk: helper.token, 'admin:read': reader.token, 'admin:configure': configurer.token },
    holders,
    ids: {
      userId: [plain.id, boss.id, helper.user.id, auditor.user.id],
      appId: [shop.code, 'authctl'],
      roleCode: ['base_user', 'help_desk', 'system_admin', 'org_member', await buildRole(service, 'org')],
      organizationId: [(await buildOrganization(service)).id],
      serviceAccountId: [reader.id, configurer.id],
      sessionId: sessions,
      permission: ['orders:read'],
    },
  }
}

const bodies = (ids: Json): Json[] => [
  {},
  { name: 'Another' },
  { role_code: 'system_admin' },
  { scopes: ['admin:read', 'admin:configure', 'users:override'] },
  { permissions: ['orders:refund'] },
  { code: `x-${randomUUID()}`, name: 'X', scope: 'global' },
  { code: `x-${randomUUID()}`, name: 'X', scope: 'org' },
  { code: `x-${randomUUID()}`, name: 'X', status: 'inactive' },
  { auto_grant_on_signup: true, linked_app_codes: ['authctl'], frontend_url: 'https://evil.example.com' },
  { status: 'suspended' },
  { email: 'evil@example.com' },
  { namespace: 'elsewhere' },
  { assignable_by: 'org_admin' },
  { role_codes: ['org_admin'] },
  { users: ids.userId },
  { token: 'anything' },
  { service: 'orders', permissions: [] },
  { step: 'prepare' },
]

const routes = listRoutes().filter(
  ({ path, method }) => path.startsWith('/admin/') && method !== 'GET' && path !== '/admin/users/import',
)

/** Rows by table, without what any call may write. */
async function protectedRows(except: readonly string[]): Promise<Record<string, string[]>> {
  const rows = await everyRow(service)
  return Object.fromEntries(
    Object.entries(rows)
      .filter(([table]) => ![...always, ...except].includes(table))
      .map(([table, held]) => [table, table === 'service_accounts' ? held.map(withoutUse) : held]),
  )
}

const withoutUse = (row: string) => JSON.stringify({ ...JSON.parse(row), last_used_at: null })

/** What the database holds about the users with a further role. */
async function rowsOf(holders: readonly string[]): Promise<string[]> {
  const rows = await everyRow(service)
  return helping.flatMap((table) => (rows[table] ?? []).filter((row) => holders.some((id) => row.includes(id))))
}

describe('any sequence of admin calls', () => {
  // Half of the calls are to routes that are open to somebody besides a system_admin.
  const open = routes.filter(({ auth }) => auth === 'help_desk' || auth === 'configurer')
  const steps = fc.array(
    fc.tuple(fc.oneof(fc.constantFrom(...routes), fc.constantFrom(...open)), fc.nat({ max: 999 }), fc.nat({ max: 999 })),
    { minLength: 20, maxLength: 40 },
  )
  const may: Record<keyof World['token'], readonly string[]> = {
    auditor: [],
    'admin:read': [],
    help_desk: helping,
    // Judged below by what it may not change.
    'admin:configure': ['apps', 'roles', 'role_permissions'],
  }

  test.each(Object.keys(may) as (keyof World['token'])[])(
    'calls by %s change nothing beyond their rights',
    { timeout: 300_000 },
    async (who) => {
      const world = await buildWorld()
      const guarded = {
        rows: await protectedRows(may[who]),
        holders: await rowsOf(world.holders),
        configured: await configuredRows(),
      }
      let done = 0
      await fc.assert(
        fc.asyncProperty(steps, async (chosen) => {
          for (const [route, which, what] of chosen) {
            const path = route.path.replace(/\{(\w+)\}/g, (_, name) => {
              const known = world.ids[name] ?? [randomUUID()]
              return known[which % known.length]!
            })
            const sent = bodies(world.ids)
            const body = route.body ? { body: sent[what % sent.length] } : {}
            const headers = { 'x-audit-reason': 'because' }
            const reply = await service.call(route.method, path, { token: world.token[who], headers, ...body })
            expect(reply.status).toBeLessThan(500)
            if (reply.status < 300) done++
          }
        }),
        { numRuns: samples(12), seed: 20_261_128 },
      )
      expect(await protectedRows(may[who])).toEqual(guarded.rows)
      expect(await rowsOf(world.holders)).toEqual(guarded.holders)
      expect(await configuredRows()).toEqual(guarded.configured)
      const mayWrite = may[who].length > 0
      expect(done > 0).toBe(mayWrite)
    },
  )
})

/** What decides about rights: settings of apps that let in, send elsewhere or sign, and roles that anybody can come to hold. */
async function configuredRows(): Promise<Json> {
  const { db } = service.deps
  const made = (code: string) => code.startsWith('x-')
  const apps: Json[] = await db('apps').orderBy('id')
  const free = [
    'name',
    'description',
    'brand',
    'sign_up',
    'organization_sign_up',
    'require_verified_email',
    'permission_scope',
    'updated_at',
  ]
  const roles: Json[] = await db('roles').where({ scope: 'global' }).orWhere({ built_in: 1 }).orderBy('code')
  const held: Json[] = await db('role_permissions')
    .whereIn(
      'role_code',
      roles.map(({ code }) => code),
    )
    .orderBy('role_code')
  return {
    apps: apps
      .filter(({ code, status }) => !(made(code) && status === 'inactive'))
      .map((app) => Object.fromEntries(Object.entries(app).filter(([name]) => !free.includes(name)))),
    roles,
    held,
  }
}
