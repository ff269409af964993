// Every way to lose a right, with one server and with two. Tokens that say more than is left are refused at once, by the service
// and by backends that verify locally. What was not taken away stays valid.
import { randomUUID } from 'node:crypto'
import { createAuth } from '@gatehouse/sdk'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { atOnce, chance } from '../support/chance.ts'
import { createDatabase } from '../support/database.ts'
import { isFastLane } from '../support/lane.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import {
  ACCESS_SECRET,
  ADMIN_EMAIL,
  bootstrapAdmin,
  claimsOf,
  type Json,
  PASSWORD,
  type Reply,
  someEmail,
  testDatabase,
} from '../support/service.ts'

type CreateAuth = typeof createAuth
/** An old release of the SDK: deployed consumers are not upgraded together with the service. */
const { createAuth: createOldAuth }: { createAuth: CreateAuth } = await import(
  new URL('../fixtures/sdk-0.1.0.js', import.meta.url).href
)

interface Setup {
  /** The server on which something is taken away. */
  acting: ServerInstance
  /** The server to which consumers listen and the user returns. */
  watching: ServerInstance
  admin(method: string, path: string, body?: object): Promise<Reply>
  newApp(settings?: object): Promise<Json>
}

/** What a user holds: a session in an organization if `inOrganization`, otherwise one with their global roles. */
interface Holder {
  user: Json
  app: Json
  organization: Json
  role: string
  tokens: Json
}

interface Way {
  inOrganization?: boolean
  lose(setup: Setup, holder: Holder): Promise<unknown>
  /** What the next refresh returns: the error code, or a check of its claims. */
  next: string | ((claims: Json, holder: Holder) => void)
  /** Whether tokens of the same user in another app die too. */
  reaches: 'everything' | 'the app'
}

const soon = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
const ended = 'invalid_refresh_token'
const self = ({ acting }: Setup, { tokens }: Holder) => ({
  call: (method: string, path: string, body?: object) => acting.call(method, path, { token: tokens.access_token, body }),
})

const ways: Record<string, Way> = {
  'the grant is revoked': {
    lose: ({ admin }, { user, app }) => admin('DELETE', `/admin/users/${user.id}/apps/${app.id}`),
    next: ended,
    reaches: 'the app',
  },
  'the grant is shortened': {
    lose: ({ admin }, { user, app }) => admin('POST', `/admin/users/${user.id}/apps/${app.id}`, { expires_at: soon(300) }),
    next: (claims) => expect(claims.exp - claims.iat).toBeLessThanOrEqual(300),
    reaches: 'the app',
  },
  'a global role is taken': {
    lose: ({ admin }, { user, role }) => admin('DELETE', `/admin/users/${user.id}/roles/${role}`),
    next: (claims) => expect(claims.roles).toEqual(['base_user']),
    reaches: 'everything',
  },
  'a role in the organization is taken': {
    inOrganization: true,
    lose: ({ admin }, { user, organization }) =>
      admin('PUT', `/admin/organizations/${organization.id}/members/${user.id}`, { role_codes: ['org_member'] }),
    next: (claims) => expect(claims.roles).toEqual(['org_member']),
    reaches: 'the app',
  },
  'the membership is ended': {
    inOrganization: true,
    lose: ({ admin }, { user, organization }) => admin('DELETE', `/admin/organizations/${organization.id}/members/${user.id}`),
    next: 'organization_membership_required',
    reaches: 'the app',
  },
  'the user leaves the organization': {
    inOrganization: true,
    lose: (setup, holder) =>
      self(setup, holder).call('DELETE', `/organizations/${holder.organization.id}/members/${holder.user.id}`),
    next: 'organization_membership_required',
    reaches: 'the app',
  },
  'a pool tag is removed': {
    lose: ({ admin }, { user }) => admin('PATCH', `/admin/users/${user.id}/namespaces`, { remove: ['guests'] }),
    next: () => {},
    reaches: 'everything',
  },
  'the e-mail is changed': {
    lose: ({ admin }, { user }) => admin('PATCH', `/admin/users/${user.id}`, { email: `new-${user.email}` }),
    next: (claims, { user }) => expect(claims.email).toBe(`new-${user.email}`),
    reaches: 'everything',
  },
  'the user moves to another pool': {
    lose: ({ admin }, { user }) => admin('PUT', `/admin/users/${user.id}/namespace`, { namespace: 'guests' }),
    next: ended,
    reaches: 'everything',
  },
  'the user is suspended': {
    lose: ({ admin }, { user }) => admin('PATCH', `/admin/users/${user.id}`, { status: 'suspended' }),
    next: ended,
    reaches: 'everything',
  },
  'the user is deleted': {
    lose: ({ admin }, { user }) => admin('DELETE', `/admin/users/${user.id}`),
    next: ended,
    reaches: 'everything',
  },
  'the user deletes the account': {
    lose: (setup, holder) => self(setup, holder).call('DELETE', '/auth/me', { password: PASSWORD }),
    next: ended,
    reaches: 'everything',
  },
  'an admin signs the user out': {
    lose: ({ admin }, { user }) => admin('POST', `/admin/users/${user.id}/logout`),
    next: ended,
    reaches: 'everything',
  },
  'the user signs out everywhere': {
    lose: (setup, holder) => self(setup, holder).call('POST', '/auth/logout-all'),
    next: ended,
    reaches: 'everything',
  },
  'the user signs out': {
    lose: ({ acting }, { tokens }) => acting.call('POST', '/auth/logout', { body: { refresh_token: tokens.refresh_token } }),
    next: ended,
    reaches: 'the app',
  },
  'the user ends the session': {
    lose: (setup, holder) => self(setup, holder).call('DELETE', `/auth/sessions/${claimsOf(holder.tokens.access_token).sid}`),
    next: ended,
    reaches: 'the app',
  },
  'the password is changed': {
    async lose(setup, holder) {
      const { app, user } = holder
      // Changed from another session, because the session of the call goes on.
      const { access_token: token } = (await setup.acting.login(user.email, app.code)).body
      const body = { current_password: PASSWORD, new_password: 'another horse battery staple' }
      return setup.acting.call('POST', '/auth/password/change', { token, body })
    },
    next: ended,
    reaches: 'everything',
  },
}

const codeAt = async (auth: ReturnType<CreateAuth>, token: string) => {
  const result = await auth.safeVerify(token)
  return result.ok ? 'ok' : result.error.code
}

/** The fast lane runs one server on SQLite and two on Postgres. */
const setups = testDatabase() === 'sqlite' ? ['one server'] : isFastLane ? ['two servers'] : ['one server', 'two servers']

describe.each(setups)('%s', (servers) => {
  let setup: Setup
  let app: Json
  let otherApp: Json
  let organization: Json
  let role: string

  beforeAll(async () => {
    const database = await createDatabase(testDatabase(), inject('templates'))
    afterAll(() => database.drop())
    const settings = { ...bootstrapAdmin, DATABASE_URL: database.url, DB_POOL_MAX: '5' }
    const acting = await startInstance(settings, onFileEnd)
    const watching = servers === 'two servers' ? await startInstance(settings, onFileEnd) : acting
    const token = (await acting.login(ADMIN_EMAIL, 'authctl')).body.access_token
    const admin: Setup['admin'] = async (method, path, body) => {
      const reply = await acting.call(method, path, { body, token })
      if (reply.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(reply.body)}`)
      return reply
    }
    const newApp = async (more: object = {}): Promise<Json> => {
      const code = `app-${randomUUID()}`
      const body = { code, name: code, auto_grant_on_signup: true, read_namespaces: ['guests'], ...more }
      return (await admin('POST', '/admin/apps', body)).body
    }
    setup = { acting, watching, admin, newApp }
    app = await newApp()
    otherApp = await newApp()
    organization = (await admin('POST', '/admin/organizations', { name: 'Acme' })).body
    role = (await admin('POST', '/admin/roles', { code: 'clerk', name: 'Clerk', scope: 'global' })).body.code
  })

  /** A backend that listens to the other server, with the current SDK and with the old one. */
  async function follow(of: Json): Promise<{ now: ReturnType<CreateAuth>; before: ReturnType<CreateAuth> }> {
    const options = { authUrl: setup.watching.url, appCode: of.code, secret: ACCESS_SECRET }
    const [now, before] = [createAuth(options), createOldAuth(options)]
    onFileEnd(async () => {
      await Promise.all([now.close(), before.close()])
    })
    await vi.waitUntil(() => [now, before].every((auth) => auth.health().revocation.connected), { timeout: 60_000 })
    return { now, before }
  }

  async function newHolder(of: Json, { inOrganization = false } = {}): Promise<Holder> {
    const body = { email: someEmail(), password: PASSWORD, app_code: of.code }
    const { user } = (await setup.watching.call('POST', '/auth/register', { body })).body
    const { admin } = setup
    await admin('POST', `/admin/users/${user.id}/roles`, { role_code: role })
    await admin('PATCH', `/admin/users/${user.id}/namespaces`, { add: ['guests'] })
    const member = `/admin/organizations/${organization.id}/members/${user.id}`
    await admin('PUT', member, { role_codes: ['org_admin', 'org_member'] })
    const organization_id = inOrganization ? organization.id : undefined
    const tokens = (await setup.watching.call('POST', '/auth/login', { body: { ...body, organization_id } })).body
    return { user, app: of, organization, role, tokens }
  }

  const me = async (server: ServerInstance, token: string) => {
    const { status, body } = await server.call('GET', '/auth/me', { token })
    return status === 200 ? 'ok' : body.code
  }
  const refresh = (tokens: Json) =>
    setup.watching.call('POST', '/auth/refresh', { body: { refresh_token: tokens.refresh_token } })

  describe('the tokens of a user', () => {
    let consumers: { app: Awaited<ReturnType<typeof follow>>; other: Awaited<ReturnType<typeof follow>> }
    let bystander: Holder
    beforeAll(async () => {
      consumers = { app: await follow(app), other: await follow(otherApp) }
      bystander = await newHolder(app)
    })

    test.each(Object.entries(ways))('tokens are revoked when %s', async (_, { inOrganization, lose, next, reaches }) => {
      const holder = await newHolder(app, { inOrganization })
      const { user, tokens } = holder
      const elsewhere = (await setup.watching.login(user.email, otherApp.code)).body
      const { now, before } = consumers.app
      const codes = () => Promise.all([now, before].map((auth) => codeAt(auth, tokens.access_token)))
      expect(await codes()).toEqual(['ok', 'ok'])

      await lose(setup, holder)
      expect(await me(setup.acting, tokens.access_token)).toBe('token_revoked')
      expect(await me(setup.watching, tokens.access_token)).toBe('token_revoked')
      await expect.poll(codes, { interval: 5 }).toEqual(['TOKEN_REVOKED', 'TOKEN_REVOKED'])

      const { body } = await refresh(tokens)
      if (typeof next === 'string') expect(body.code).toBe(next)
      else {
        next(claimsOf(body.access_token), holder)
        expect(await me(setup.watching, body.access_token)).toBe('ok')
        expect(await codeAt(now, body.access_token)).toBe('ok')
        expect(await codeAt(before, body.access_token)).toBe('ok')
      }
      const otherCode = reaches === 'everything' ? 'token_revoked' : 'ok'
      expect(await me(setup.watching, elsewhere.access_token)).toBe(otherCode)
      if (reaches === 'everything')
        await expect.poll(() => codeAt(consumers.other.now, elsewhere.access_token), { interval: 5 }).toBe('TOKEN_REVOKED')
      else expect(await codeAt(consumers.other.now, elsewhere.access_token)).toBe('ok')
      expect(await me(setup.watching, bystander.tokens.access_token)).toBe('ok')
      expect(await codeAt(now, bystander.tokens.access_token)).toBe('ok')
    })

    test('tokens stay valid after changes that take nothing away', async () => {
      const holder = await newHolder(app, { inOrganization: true })
      const { user, tokens } = holder
      const { admin } = setup
      const member = `/admin/organizations/${organization.id}/members/${user.id}`
      const grant = `/admin/users/${user.id}/apps/${app.id}`
      await admin('PUT', member, { role_codes: ['org_member', 'org_admin'] })
      await admin('PATCH', `/admin/users/${user.id}`, { email: user.email, first_name: 'Ada' })
      await admin('PATCH', `/admin/users/${user.id}/namespaces`, { add: ['others'], remove: ['nowhere'] })
      await admin('POST', grant, { reason: 'trial' })
      await admin('PATCH', `/admin/apps/${app.id}`, { name: 'Renamed', status: 'active' })
      const more = (await admin('POST', '/admin/roles', { code: `more-${randomUUID()}`, name: 'More', scope: 'global' })).body
      await admin('POST', `/admin/users/${user.id}/roles`, { role_code: more.code })
      const { tv } = claimsOf((await refresh(tokens)).body.access_token)
      expect(tv).toBe(claimsOf(tokens.access_token).tv)
      expect(await me(setup.acting, tokens.access_token)).toBe('ok')
      await admin('POST', grant, { expires_at: soon(1_000) })
      const shortened = claimsOf((await setup.watching.login(user.email, app.code)).body.access_token).tv
      await admin('POST', grant, { expires_at: soon(2_000) })
      await admin('POST', grant, { expires_at: null })
      expect([shortened, claimsOf((await setup.watching.login(user.email, app.code)).body.access_token).tv]).toEqual([
        tv + 1,
        tv + 1,
      ])
    })
  })

  test('a user who enters an organization while an admin removes them keeps no token of it', async () => {
    const { acting, watching, admin } = setup
    const member = (user: Json) => `/admin/organizations/${organization.id}/members/${user.id}`
    const outcomes = await atOnce(4, async (index) => {
      const { soon } = chance(index + 1)
      const answers: Json[] = []
      for (let round = 0; round < 8; round += 1) {
        const { user, tokens } = await newHolder(app)
        const inside = { organization_id: organization.id }
        const login = { email: user.email, password: PASSWORD, app_code: app.code, ...inside }
        const entries = [
          soon(30, () => watching.call('POST', '/auth/login', { body: login })),
          soon(60, () => watching.call('POST', '/auth/refresh', { body: { refresh_token: tokens.refresh_token, ...inside } })),
        ]
        await Promise.all([...entries, soon(60, () => admin('DELETE', member(user)))])
        answers.push(...(await Promise.all(entries)))
      }
      return answers
    })
    for (const { status, body } of outcomes.flat()) {
      if (status !== 200) expect(['organization_membership_required', 'token_revoked']).toContain(body.code)
      else if (claimsOf(body.access_token).org_id) expect(await me(acting, body.access_token)).toBe('token_revoked')
    }
  })

  test('tokens of a deactivated app stay dead, and its sessions go on once it is active again', async () => {
    const closing = await setup.newApp()
    const { now, before } = await follow(closing)
    const holder = await newHolder(closing)
    const token = holder.tokens.access_token
    const elsewhere = (await setup.watching.login(holder.user.email, otherApp.code)).body.access_token
    expect(await codeAt(now, token)).toBe('ok')
    await setup.admin('PATCH', `/admin/apps/${closing.id}`, { status: 'inactive' })
    await expect.poll(() => codeAt(now, token), { interval: 5 }).toBe('TOKEN_REVOKED')
    for (const server of [setup.acting, setup.watching]) expect(await me(server, token)).toBe('token_revoked')
    expect(await me(setup.watching, elsewhere)).toBe('ok')
    expect((await refresh(holder.tokens)).body.code).toBe('app_inactive')
    // A consumer that starts now learns it too.
    const late = await follow(closing)
    expect(await codeAt(late.now, token)).toBe('TOKEN_REVOKED')

    await setup.admin('PATCH', `/admin/apps/${closing.id}`, { status: 'active' })
    const { body } = await refresh(holder.tokens)
    for (const auth of [now, before, late.now]) expect(await codeAt(auth, body.access_token)).toBe('ok')
    expect(await me(setup.watching, body.access_token)).toBe('ok')
    expect(await codeAt(now, token)).toBe('TOKEN_REVOKED')
    expect(await me(setup.watching, token)).toBe('token_revoked')
    // The old SDK gets no events about whole apps, but has missed nothing that came after.
    await setup.admin('DELETE', `/admin/users/${holder.user.id}/apps/${closing.id}`)
    await expect.poll(() => codeAt(before, body.access_token), { interval: 5 }).toBe('TOKEN_REVOKED')
    expect(before.health().revocation.connected).toBe(true)
  })

  test('tokens of a deleted app are not valid for a new app with the same code', async () => {
    const closing = await setup.newApp()
    const { now } = await follow(closing)
    const holder = await newHolder(closing)
    const token = holder.tokens.access_token
    await setup.admin('DELETE', `/admin/apps/${closing.id}?force=true`)
    await expect.poll(() => codeAt(now, token), { interval: 5 }).toBe('TOKEN_REVOKED')
    for (const server of [setup.acting, setup.watching]) expect(await me(server, token)).toBe('token_revoked')
    expect((await refresh(holder.tokens)).body.code).toBe(ended)
    // While no app has the code, a consumer that starts learns it too.
    const late = await follow(closing)
    expect(await codeAt(late.now, token)).toBe('TOKEN_REVOKED')

    const again = await setup.newApp({ code: closing.code })
    const fresh = (await setup.watching.login(holder.user.email, again.code)).body.access_token
    const { now: ofNew } = await follow(again)
    expect([await codeAt(ofNew, token), await codeAt(ofNew, fresh)]).toEqual(['APP_MISMATCH', 'ok'])
    expect([await me(setup.watching, token), await me(setup.watching, fresh)]).toEqual(['token_revoked', 'ok'])
    // A backend that was started for the old app does not accept tokens of the new one.
    expect([await codeAt(now, token), await codeAt(now, fresh)]).toEqual(['TOKEN_REVOKED', 'APP_MISMATCH'])
  })
})
