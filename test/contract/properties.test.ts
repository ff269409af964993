// No route breaks, whatever JSON comes in: generated bodies with known members and values of every type.
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { normalizeEmail } from '../../packages/server/src/lib/email.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { buildUser, type Json, PASSWORD } from '../support/service.ts'

let user: Json
let refreshToken: string
let someone = 0

const service = serviceFixture({ AUTH_RATE_LIMIT_ACCOUNT: 'off', AUTH_LOCKOUT_THRESHOLD: '1000' })
const app = appFixture(service)
beforeAll(async () => {
  const registered = await buildUser(service, app)
  user = registered.user
  refreshToken = registered.refresh_token
})

const runs = { numRuns: 70, seed: 20_261_120 }

/** Any JSON value, or sometimes one that fits. */
const valueOr = (...fitting: (() => unknown)[]): fc.Arbitrary<unknown> =>
  fc.oneof(
    { arbitrary: fc.jsonValue({ maxDepth: 2 }), weight: 2 },
    { arbitrary: fc.string({ unit: 'binary', maxLength: 40 }), weight: 1 },
    {
      arbitrary: fc
        .constantFrom(
          ...fitting,
          () => '',
          () => null,
        )
        .map((make) => ({ make })),
      weight: 4,
    },
  )

/** Replaces placeholders with fitting values, which are known only once the service runs. */
function settled(body: Record<string, unknown>): Record<string, unknown> {
  const isLate = (value: unknown): value is { make(): unknown } =>
    typeof value === 'object' && value !== null && 'make' in value && typeof value.make === 'function'
  return Object.fromEntries(Object.entries(body).map(([key, value]) => [key, isLate(value) ? value.make() : value]))
}

const members = {
  email: valueOr(
    () => user.email,
    () => `someone-${++someone}@example.com`,
  ),
  password: valueOr(() => PASSWORD),
  app_code: valueOr(
    () => app.code,
    () => 'authctl',
  ),
  mode: valueOr(
    () => 'register',
    () => 'register_or_login',
    () => 'register_or_return',
  ),
  organization_id: valueOr(() => user.id),
  organization_name: valueOr(() => 'Acme'),
  role_code: valueOr(
    () => 'org_admin',
    () => 'system_admin',
  ),
  linked_app_codes: valueOr(
    () => [app.code, 'x'],
    () => [],
  ),
  invite_code: valueOr(() => 'x'),
  two_factor_code: valueOr(() => '000000'),
  first_name: valueOr(() => 'Ada'),
  last_name: valueOr(() => 'Lovelace'),
  refresh_token: valueOr(() => refreshToken),
}

const bodies = fc.record(
  { ...members, anything: fc.jsonValue({ maxDepth: 3 }) },
  { requiredKeys: ['email', 'password', 'app_code'] },
)

test.for(['/auth/register', '/auth/login', '/auth/refresh'])(
  '%s answers any JSON with a declared reply, and never with a 5xx',
  async (path) => {
    await fc.assert(
      fc.asyncProperty(bodies, async (generated) => {
        const reply = await service.call('POST', path, { body: settled(generated) })
        expect(reply.status).toBeLessThan(500)
        if (reply.status < 400) return
        expect(reply.body).toMatchObject({ status: reply.status, code: expect.any(String), request_id: expect.any(String) })
        if (reply.body.code === 'validation_failed') expect(reply.body.errors.length).toBeGreaterThan(0)
      }),
      runs,
    )
  },
)

test('every accepted address is stored in a form that is accepted unchanged', async () => {
  const parts = fc.tuple(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }), fc.domain())
  await fc.assert(
    fc.asyncProperty(parts, async ([local, domain]) => {
      const email = `${local}@${domain}`
      const { status, body } = await service.register(email, app.code)
      if (status === 400) return
      expect([201, 409]).toContain(status)
      const stored = status === 201 ? body.user.email : normalizeEmail(email)
      expect(stored).toBe(normalizeEmail(stored))
      expect((await service.login(email, app.code)).body.user?.email).toBe(stored)
    }),
    { ...runs, numRuns: 40 },
  )
})
