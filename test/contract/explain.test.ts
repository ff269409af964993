import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { addressKeys } from '../../packages/server/src/lib/lock-keys.ts'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { addMember, assignRole, buildOrganization, closeAccount, registerPermissions } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { samples } from '../support/lane.ts'
import { everyRow } from '../support/rows.ts'
import { buildApp, buildService, buildUser, claimsOf, type Json, PASSWORD, type TestService } from '../support/service.ts'
import { enableTwoFactor } from '../support/totp.ts'

const service = serviceFixture()

async function explain(query: Record<string, string>, from: TestService = service): Promise<Json> {
  const { status, body } = await from.admin('GET', `/admin/explain?${new URLSearchParams(query)}`)
  expect(status).toBe(200)
  return body
}

/** The outcome of a login with the right password. */
async function outcomeOfLogin(email: string, app: string, extra: Record<string, unknown> = {}): Promise<string> {
  const { status, body } = await service.login(email, app, extra)
  return status === 200 ? 'granted' : body.code
}

function grant(userId: string, appId: string, columns: Record<string, unknown> = {}): Promise<unknown> {
  const row = { id: newId(), user_id: userId, app_id: appId, status: 'active', granted_via: 'admin', granted_at: 1, ...columns }
  return service.deps.db('user_apps').insert(row)
}

describe('explain and the next login', () => {
  const choices = {
    app: ['active', 'active', 'active', 'inactive', 'unknown'],
    pool: ['home', 'home', 'tag', 'outside'],
    account: ['active', 'active', 'active', 'suspended', 'deleted', 'locked', 'without password'],
    access: ['none', 'active', 'revoked', 'expired', 'ends soon'],
    autoGrant: [false, true],
    defaultOrganization: [false, true],
    organization: ['none asked for', 'none asked for', 'member', 'stranger', 'default of the app', 'unknown'],
    isAdmin: [false, false, false, true],
    asksVerified: [false, false, true],
    address: ['unverified', 'proven', 'proven', 'by link alone'],
  } as const
  type Situation = { [K in keyof typeof choices]: (typeof choices)[K][number] }

  /** As many refusals as possible. */
  const worst: Situation = {
    ...{ app: 'inactive', pool: 'home', account: 'locked', access: 'revoked', autoGrant: false, isAdmin: false },
    ...{ organization: 'stranger', defaultOrganization: false, asksVerified: true, address: 'unverified' },
  }

  /** The same situations in each run, picked by a linear congruential generator. */
  function situations(count: number): Situation[] {
    let state = 20_244_552
    const pick = <T>(values: readonly T[]): T => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
      return values[Math.floor((state / 2_147_483_648) * values.length)]!
    }
    const entries = Object.entries(choices) as [string, readonly unknown[]][]
    return Array.from(
      { length: count },
      () => Object.fromEntries(entries.map(([name, values]) => [name, pick(values)])) as Situation,
    )
  }

  async function arrange(situation: Situation): Promise<{ email: string; app: string; organization_id?: string }> {
    const own = await buildOrganization(service)
    const home = `pool-${randomUUID()}`
    const app = await buildApp(service, {
      registration_namespace: home,
      read_namespaces: ['readers'],
      ...(situation.defaultOrganization ? { default_organization_id: own.id } : {}),
      require_verified_email: situation.asksVerified,
    })
    const { user } = await buildUser(service, app)
    const { db } = service.deps
    if (situation.autoGrant) await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { auto_grant_on_signup: true } })
    if (situation.pool !== 'home') await db('users').where({ id: user.id }).update({ namespace: 'elsewhere' })
    if (situation.pool === 'outside') await db('user_namespaces').where({ user_id: user.id }).delete()
    if (situation.account === 'without password') await db('users').where({ id: user.id }).update({ password_hash: null })
    if (situation.account === 'locked') {
      const now = service.deps.clock()
      const row = { failures: 10, last_failed_at: now, locked_until: now + 900_000 }
      const { body } = await service.admin('GET', `/admin/users/${user.id}`)
      const keys = addressKeys(service.deps.config.encryptionKeys[0], user.email, body.namespaces)
      await db('lockouts').insert(keys.map((key) => ({ key, ...row })))
    }
    if (situation.access === 'active') await grant(user.id, app.id)
    if (situation.access === 'revoked') await grant(user.id, app.id, { status: 'revoked', revoked_at: 2 })
    if (situation.access === 'expired') await grant(user.id, app.id, { expires_at: 2 })
    if (situation.access === 'ends soon') await grant(user.id, app.id, { expires_at: service.deps.clock() + 600_000 })
    if (situation.isAdmin) await assignRole(service, user.id, 'system_admin')
    const isProven = situation.address === 'proven' ? 1 : null
    const isVerified = situation.address === 'unverified' ? null : 1
    const verification = { email_verified_at: isVerified, first_verified_at: 1, mailbox_proven_at: isProven }
    await db('users').where({ id: user.id }).update(verification)
    const other =
      situation.organization === 'stranger' || situation.organization === 'member' ? await buildOrganization(service) : own
    if (situation.organization === 'member') await addMember(service, other.id, user.id, ['org_admin'])
    if (situation.account === 'suspended' || situation.account === 'deleted')
      await closeAccount(service, user.id, situation.account)
    if (situation.app === 'inactive') await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { status: 'inactive' } })
    const asked = { 'none asked for': undefined, unknown: randomUUID() }
    const organization_id = situation.organization in asked ? asked[situation.organization as keyof typeof asked] : other.id
    return {
      email: user.email,
      app: situation.app === 'unknown' ? `no-${app.code}` : app.code,
      ...(organization_id ? { organization_id } : {}),
    }
  }

  /**
   * The outcome of a login with the right password, step by step, from the wording of the contract only. A user with system_admin
   * needs a grant like any other.
   */
  function expectedOutcome(situation: Situation): string {
    const { app, pool, account, access, autoGrant, defaultOrganization, organization, asksVerified, address } = situation
    if (app === 'unknown') return 'app_not_found'
    if (app === 'inactive') return 'app_inactive'
    if (pool === 'outside' || account === 'deleted') return 'invalid_credentials'
    if (account === 'locked') return 'account_locked'
    if (account === 'without password') return 'invalid_credentials'
    if (account === 'suspended') return 'account_suspended'
    if (asksVerified && address !== 'proven') return 'email_unverified'
    const provisions = access === 'none' && autoGrant
    const isMember = organization === 'member' || (organization === 'default of the app' && defaultOrganization && provisions)
    if (organization !== 'none asked for' && !isMember) return 'organization_membership_required'
    if (access === 'revoked') return 'app_access_denied'
    return provisions || access === 'active' || access === 'ends soon' ? 'granted' : 'app_access_denied'
  }

  /** The refusals that remain when each one is fixed in turn, by the same rules. */
  function expectedFurther(situation: Situation): string[] {
    const mends: Record<string, Partial<Situation>> = {
      app_inactive: { app: 'active' },
      account_locked: { account: 'active' },
      account_suspended: { account: 'active' },
      email_unverified: { address: 'proven' },
      organization_membership_required: { organization: 'member' },
      app_access_denied: { access: 'active' },
      // A lock applies to the pools in which the wrong passwords were tried, not to a new one.
      invalid_credentials:
        situation.pool !== 'outside'
          ? { account: 'active' }
          : { pool: 'tag', account: situation.account === 'locked' ? 'active' : situation.account },
    }
    const outcome = expectedOutcome(situation)
    const isForGood =
      (outcome === 'invalid_credentials' && situation.account === 'deleted') ||
      (outcome === 'organization_membership_required' && situation.organization === 'unknown')
    if (mends[outcome] === undefined || isForGood) return []
    const mended = { ...situation, ...mends[outcome] }
    const next = expectedOutcome(mended)
    return next === 'granted' ? [] : [next, ...expectedFurther(mended)]
  }

  /** The roles in the token of a login that succeeds. */
  function expectedRoles({ organization, isAdmin }: Situation): string[] {
    if (organization === 'member') return ['org_admin']
    if (organization === 'default of the app') return ['org_member']
    return isAdmin ? ['base_user', 'system_admin'] : ['base_user']
  }

  test('explain answers as the login then does, with claims and token length, in random situations, and writes nothing', {
    timeout: 300_000,
  }, async () => {
    const cases = []
    for (const situation of [worst, ...situations(samples(150))]) cases.push({ situation, query: await arrange(situation) })

    const before = await everyRow(service)
    const explained = []
    for (const { query } of cases) explained.push(await explain(query))
    expect(await everyRow(service)).toEqual(before)

    const outcomes = new Set<string>()
    let longest = 0
    for (const [index, { situation, query }] of cases.entries()) {
      const { outcome, steps, further_refusals, claims, token_bytes } = explained[index]
      const { email, app, organization_id } = query
      const login = await service.login(email, app, organization_id ? { organization_id } : {})
      const label = JSON.stringify(situation)
      expect(login.status === 200 ? 'granted' : login.body.code, label).toBe(outcome)
      expect(outcome, label).toBe(expectedOutcome(situation))
      const further = further_refusals.map(({ code }: Json) => code)
      expect(further, label).toEqual(expectedFurther(situation))
      longest = Math.max(longest, further.length)
      expect(
        further_refusals.every(({ step, ok, detail }: Json) => step > 0 && !ok && detail !== ''),
        label,
      ).toBe(true)
      outcomes.add(outcome)
      if (outcome === 'granted') {
        const real = claimsOf(login.body.access_token)
        const drawn = { sid: expect.any(String), jti: expect.any(String) }
        const times = { auth_time: expect.any(Number), iat: expect.any(Number), nbf: expect.any(Number), exp: expect.any(Number) }
        expect(claims, label).toEqual({ ...real, ...drawn, ...times })
        expect(real.roles, label).toEqual(expectedRoles(situation))
        // If the grant ends soon, both tokens end with it, so the later one has a shorter life.
        if (situation.access !== 'ends soon') expect(claims.exp - claims.iat, label).toBe(real.exp - real.iat)
        expect(token_bytes, label).toBe(login.body.access_token.length)
        expect(
          steps.map((step: Json) => step.step),
          label,
        ).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
        expect(
          steps.every((step: Json) => step.ok && step.code === undefined),
          label,
        ).toBe(true)
      } else {
        expect(claims, label).toBeUndefined()
        expect(steps.at(-1), label).toMatchObject({ ok: false, code: outcome, detail: expect.any(String) })
        expect(
          steps.slice(0, -1).every((step: Json) => step.ok),
          label,
        ).toBe(true)
      }
    }
    expect(longest).toBe(4)
    expect([...outcomes].sort()).toEqual([
      'account_locked',
      'account_suspended',
      'app_access_denied',
      'app_inactive',
      'app_not_found',
      'email_unverified',
      'granted',
      'invalid_credentials',
      'organization_membership_required',
    ])
  })

  test('explain agrees with the login for an unknown address, before and after it is locked', async () => {
    const service = await buildService({ AUTH_LOCKOUT_THRESHOLD: '2' })
    const app = await buildApp(service)
    const query = { email: 'nobody@example.com', app: app.code }
    expect((await explain(query, service)).outcome).toBe('invalid_credentials')
    for (let count = 0; count < 2; count += 1)
      expect((await service.login(query.email, app.code)).body.code).toBe('invalid_credentials')
    expect((await service.login(query.email, app.code)).body.code).toBe('account_locked')
    const { outcome, steps } = await explain(query, service)
    expect(outcome).toBe('account_locked')
    expect(steps.slice(2)).toEqual([
      {
        step: 3,
        name: 'user',
        ok: false,
        code: 'invalid_credentials',
        detail: expect.stringContaining('No user has this address'),
      },
      {
        step: 4,
        name: 'account',
        ok: false,
        code: 'account_locked',
        detail: expect.stringContaining('No user has this address'),
      },
    ])
  })

  test('explain agrees with the login for an address with too many tries', async () => {
    const service = await buildService({ AUTH_RATE_LIMIT_ACCOUNT: '1/60' })
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    await service.login(user.email, app.code, { password: 'a wrong one' })
    const { outcome, steps } = await explain({ email: user.email, app: app.code }, service)
    expect(outcome).toBe('rate_limited')
    expect(steps).toEqual([
      {
        step: 1,
        name: 'account_limit',
        ok: false,
        code: 'rate_limited',
        detail: expect.stringMatching(/ends in \d+ seconds/),
      },
    ])
    expect((await service.login(user.email, app.code)).body.code).toBe('rate_limited')
  })

  test('explaining never counts as a try', async () => {
    const service = await buildService({ AUTH_LOCKOUT_THRESHOLD: '2', AUTH_RATE_LIMIT_ACCOUNT: '2/60' })
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    for (let count = 0; count < 5; count += 1) {
      await explain({ email: user.email, app: app.code }, service)
      await explain({ email: 'nobody@example.com', app: app.code }, service)
    }
    expect((await service.login(user.email, app.code)).status).toBe(200)
    expect((await service.login('nobody@example.com', app.code)).body.code).toBe('invalid_credentials')
  })

  test('an explanation without an app follows the settings', async () => {
    expect((await explain({ email: 'nobody@example.com' })).outcome).toBe('app_code_required')
    expect((await explain({ email: 'nobody@example.com', app: ' ' })).outcome).toBe('app_code_required')
    const service = await buildService({ AUTH_ALLOW_BASE_USER_LOGIN: 'true' })
    const { user } = await buildUser(service, await buildApp(service))
    const { outcome, claims, steps } = await explain({ email: user.email }, service)
    expect(outcome).toBe('granted')
    expect(claims).toMatchObject({ aud: 'gatehouse', roles: ['base_user'] })
    expect(claims).not.toHaveProperty('app_id')
    expect(steps).toHaveLength(9)
  })

  test('an explanation assumes that the second factor is shown, and says that it is needed', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    await service.deps.db('second_factors').insert({ user_id: user.id, totp_box: 'sealed', activated_at: 1, created_at: 1 })
    const { outcome, steps } = await explain({ email: user.email, app: app.code })
    expect(outcome).toBe('granted')
    expect(steps[5]).toEqual({ step: 6, name: 'two_factor', ok: true, detail: 'On: a login must also send two_factor_code' })
  })
})

describe('the command that resolves a refusal', () => {
  /** The step that refuses. */
  async function refusal(query: Record<string, string>): Promise<Json> {
    return (await explain(query)).steps.at(-1)
  }

  test('the command is named for an app that is unknown or inactive', async () => {
    const email = 'nobody@example.com'
    expect(await refusal({ email, app: 'notes' })).toMatchObject({
      step: 2,
      name: 'app',
      code: 'app_not_found',
      detail: expect.stringMatching(/: authctl app create notes --name notes$/),
    })
    expect(await refusal({ email, app: 'My Notes' })).toMatchObject({
      code: 'app_not_found',
      detail: expect.stringMatching(/: authctl app list$/),
    })
    const app = await buildApp(service, { status: 'inactive' })
    const mended = { step: 2, code: 'app_inactive', detail: expect.stringMatching(`: authctl app activate ${app.code}$`) }
    expect(await refusal({ email, app: app.code })).toMatchObject(mended)
    expect(await refusal({ email, app: app.id.toUpperCase() })).toMatchObject(mended)
  })

  test('the command is named for a user who is unknown, outside the pools, shadowed by another, or deleted', async () => {
    const staff = await buildApp(service, { registration_namespace: 'staff' })
    const guests = await buildApp(service, { registration_namespace: 'guests' })
    const { user } = await buildUser(service, guests)
    expect(await refusal({ email: 'nobody@example.com', app: staff.code })).toMatchObject({
      step: 3,
      name: 'user',
      code: 'invalid_credentials',
      detail: expect.stringMatching(/: authctl user create --email nobody@example\.com --pool staff$/),
    })
    const outside = { step: 3, detail: expect.stringMatching(`: authctl pool tag --user ${user.email}@@guests --pool staff$`) }
    expect(await refusal({ email: user.email, app: staff.code })).toMatchObject(outside)
    expect(await refusal({ user_id: user.id, app: staff.code })).toMatchObject(outside)

    const twin = (await service.register(user.email, staff.code)).body.user
    await service.deps.db('user_namespaces').insert({ user_id: user.id, namespace: 'staff', created_at: 1 })
    await service.admin('POST', `/admin/users/${twin.id}/apps/${staff.id}`)
    expect(await explain({ email: user.email, app: staff.code })).toMatchObject({ outcome: 'granted', claims: { uid: twin.id } })
    expect(await explain({ user_id: user.id, app: staff.code })).toMatchObject({
      outcome: 'invalid_credentials',
      steps: [{}, {}, { step: 3, ok: false, detail: expect.stringMatching(/: authctl pool collisions staff guests$/) }],
    })

    await closeAccount(service, twin.id, 'deleted')
    const deleted = { step: 3, code: 'invalid_credentials', detail: expect.stringContaining('deleted') }
    await service.deps.db('user_namespaces').where({ user_id: user.id }).delete()
    expect(await refusal({ user_id: twin.id, app: staff.code })).toMatchObject(deleted)
  })

  test('the command is named for an account that is locked, suspended or without a password', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const [locked, coded, suspended, passwordless] = [
      await buildUser(service, app),
      await buildUser(service, app),
      await buildUser(service, app),
      await buildUser(service, app),
    ]
    for (let count = 0; count < 10; count += 1) await service.login(locked.user.email, app.code, { password: 'a wrong one' })
    expect(await refusal({ email: locked.user.email, app: app.code })).toMatchObject({
      step: 4,
      name: 'account',
      code: 'account_locked',
      detail: expect.stringMatching(`: authctl user unlock ${locked.user.email}@@default$`),
    })
    const phone = await enableTwoFactor(service, coded.access_token)
    for (let count = 0; count < 10; count += 1)
      await service.login(coded.user.email, app.code, { two_factor_code: phone.wrongCode() })
    expect(await refusal({ email: coded.user.email, app: app.code })).toMatchObject({
      step: 6,
      name: 'two_factor',
      code: 'account_locked',
      detail: expect.stringMatching(`: authctl user unlock ${coded.user.email}@@default$`),
    })
    await closeAccount(service, coded.user.id, 'suspended')
    const both = await explain({ email: coded.user.email, app: app.code })
    expect(await outcomeOfLogin(coded.user.email, app.code)).toBe('account_locked')
    expect(both.outcome).toBe('account_locked')
    expect(both.steps.at(-1)).toMatchObject({ name: 'two_factor', code: 'account_locked' })
    expect(both.steps[3]).toMatchObject({ name: 'account', ok: true, detail: expect.stringContaining('Suspended') })
    expect(both.further_refusals).toMatchObject([{ name: 'account', code: 'account_suspended' }])
    await closeAccount(service, suspended.user.id, 'suspended')
    expect(await refusal({ email: suspended.user.email, app: app.code })).toMatchObject({
      step: 4,
      code: 'account_suspended',
      detail: expect.stringMatching(`: authctl user activate ${suspended.user.email}@@default$`),
    })
    await service.deps.db('users').where({ id: passwordless.user.id }).update({ password_hash: null })
    expect(await refusal({ email: passwordless.user.email, app: app.code })).toMatchObject({
      step: 5,
      name: 'password',
      code: 'invalid_credentials',
      detail: expect.stringContaining('no password'),
    })
  })

  test('the command is named for an organization that is unknown or without the user', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    const organization = await buildOrganization(service)
    const query = { email: user.email, app: app.code }
    expect(await refusal({ ...query, organization_id: organization.id })).toMatchObject({
      step: 7,
      name: 'roles',
      code: 'organization_membership_required',
      detail: expect.stringMatching(
        `: authctl org member --org ${organization.id} --user ${user.email}@@default --role org_member$`,
      ),
    })
    expect(await refusal({ ...query, organization_id: randomUUID() })).toMatchObject({
      step: 7,
      detail: expect.stringMatching(/: authctl org list$/),
    })
  })

  test('the command is named for a grant that is missing, revoked or expired', async () => {
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    const query = { email: user.email, app: app.code }
    const remedy = `: authctl grant add --app ${app.code} --user ${user.email}@@default$`
    const refused = (why: string) => ({
      step: 8,
      name: 'access',
      code: 'app_access_denied',
      detail: expect.stringMatching(why + remedy),
    })
    expect(await refusal(query)).toMatchObject(refused('^The user has no grant.*'))
    await service.admin('POST', `/admin/users/${user.id}/apps/${app.id}`)
    expect((await explain(query)).outcome).toBe('granted')
    await service.admin('DELETE', `/admin/users/${user.id}/apps/${app.id}`)
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { auto_grant_on_signup: true } })
    expect(await refusal(query)).toMatchObject(refused('^The grant was revoked at 2.*'))
    await service.admin('POST', `/admin/users/${user.id}/apps/${app.id}`, { body: { expires_at: '2099-01-31T18:00:00.000Z' } })
    await service.admin('DELETE', `/admin/users/${user.id}/apps/${app.id}`)
    expect((await refusal(query)).detail).toMatch(/@@default --expires 2099-01-31T18:00:00\.000Z$/)
    await service.deps.db('user_apps').where({ user_id: user.id }).update({ status: 'active', expires_at: 1_000 })
    expect(await refusal(query)).toMatchObject(refused('^The grant expired at 1970-01-01T00:00:01.000Z.*'))
  })

  test('a command is safe to paste, whatever the address of the user', async () => {
    const app = await buildApp(service)
    const email = "a'$home`id`&b@example.com"
    const { body } = await service.register(email, app.code)
    const { detail } = await refusal({ user_id: body.user.id, app: app.code })
    expect(detail).toContain(`authctl grant add --app ${app.code} --user 'a'\\''$home\`id\`&b@example.com@@default'`)
  })
})

describe('the result of an explained login', () => {
  test('auto-provisioning is described with all that it would give, and not done', async () => {
    const organization = await buildOrganization(service, `acme-${randomUUID()}`)
    const linked = await buildApp(service)
    const app = await buildApp(service, {
      linked_app_codes: [linked.code, 'no-such-app'],
      default_organization_id: organization.id,
    })
    const { user } = await buildUser(service, app)
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { auto_grant_on_signup: true } })

    const query = { email: user.email, app: app.code }
    const { outcome, steps } = await explain(query)
    expect(outcome).toBe('granted')
    expect(steps[7]).toMatchObject({ step: 8, name: 'access', ok: true })
    expect(steps[7].detail).toBe(
      `No grant yet, but ${app.code} grants automatically: a login now would give access to it; ` +
        `access to the linked ${linked.code}; membership of ${organization.slug} as org_member; ` +
        'it would skip the linked no-such-app: unknown, or not allowed to be linked',
    )
    expect((await service.admin('GET', `/admin/users/${user.id}`)).body).toMatchObject({ apps: [], organizations: [] })

    const inOrganization = await explain({ ...query, organization_id: organization.id })
    expect(inOrganization).toMatchObject({ outcome: 'granted', claims: { org_slug: organization.slug, roles: ['org_member'] } })
    expect(await outcomeOfLogin(user.email, app.code)).toBe('granted')
    expect((await explain(query)).steps[7].detail).toMatch(/^Active grant \(auto\) since /)
  })

  test('a system_admin needs no grant for authctl only', async () => {
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    await assignRole(service, user.id, 'system_admin')
    const { outcome, steps } = await explain({ user_id: user.id, app: 'authctl' })
    expect([outcome, steps[7].detail]).toEqual(['granted', 'Holders of system_admin enter authctl without a grant'])
    expect((await explain({ user_id: user.id, app: app.id })).outcome).toBe('app_access_denied')
  })

  test('a token that is too long for consumers is named together with the setting that shortens it', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    const query = { email: user.email, app: app.code }
    expect((await explain(query)).steps[8].detail).toMatch(/^\d{3} bytes with 2 permissions, for 900 seconds$/)
    await registerPermissions(
      service,
      app.code,
      Array.from({ length: 800 }, (_, index) => `resource-${index}:${app.code}`),
    )
    const { token_bytes, steps } = await explain(query)
    expect(token_bytes).toBeGreaterThan(16_384)
    expect(steps[8]).toMatchObject({
      ok: true,
      detail: expect.stringMatching(`: authctl app update ${app.code} --permission-scope roles$`),
    })
  })

  test('the answer contains no token and nothing to make one from', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    const text = JSON.stringify(await explain({ email: user.email, app: app.code }))
    expect(text).not.toMatch(/eyJ|grt_|\$2[aby]\$/)
    expect(text).not.toContain(PASSWORD)
  })
})

describe('the query of an explanation', () => {
  test.each([
    ['', 'email', 'required'],
    ['app=notes', 'email', 'required'],
    ['email=a@example.com&user_id=01234567-89ab-7cde-8123-456789abcdef', 'user_id', 'invalid_value'],
    ['email=nobody', 'email', 'invalid_value'],
    ['user_id=17', 'user_id', 'invalid_value'],
    ['email=a@example.com&organization_id=17', 'organization_id', 'invalid_value'],
    ['email=a@example.com&app_code=notes', 'app_code', 'unknown_field'],
    ['email=a@example.com&email=b@example.com', 'email', 'invalid_type'],
  ])('the query ?%s is refused at the field %s', async (query, path, code) => {
    const reply = await service.admin('GET', `/admin/explain?${query}`)
    expect(reply.body).toMatchObject({ status: 400, code: 'validation_failed', errors: [{ path, code }] })
  })

  test('an unknown user_id is 404', async () => {
    const reply = await service.admin('GET', `/admin/explain?user_id=${randomUUID()}&app=notes`)
    expect(reply.body).toMatchObject({ status: 404, code: 'not_found' })
  })

  test('more explanations at once than there are connections all answer', async () => {
    const service = await buildService({ DB_POOL_MAX: '2' })
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    const answers = await Promise.all(Array.from({ length: 20 }, () => explain({ email: user.email, app: app.code }, service)))
    expect(answers.map(({ outcome }) => outcome)).toEqual(Array(20).fill('granted'))
  })
})
