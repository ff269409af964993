// A request with two credentials: a proxy may have checked one, and the service would use the other.
import { expect, test } from 'vitest'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { appFixture, fixture, serviceFixture } from '../support/fixtures.ts'
import { rawCall } from '../support/raw-http.ts'
import { buildUser, type Json } from '../support/service.ts'

const service = serviceFixture()
const app = appFixture(service)
const user: Json = fixture(() => buildUser(service, app))
const other: Json = fixture(() => buildUser(service, app))

test.each(['GET /api/v1/auth/me', 'GET /api/v1/admin/apps', 'GET /api/v1/revocations', 'GET /api/v1/health', 'GET /metrics'])(
  '%s with two Authorization headers is 400, in any order and even if both are equal',
  async (route) => {
    const [method, path] = route.split(' ') as [string, string]
    const bearers = [user, other].map(({ access_token }) => `Bearer ${access_token}`)
    for (const Authorization of [
      bearers,
      bearers.toReversed(),
      [bearers[0]!, bearers[0]!],
      [bearers[0]!, ''],
      ['Basic eDp5', bearers[0]!],
    ]) {
      const reply = await rawCall(service.url, method, path, { headers: { Authorization } })
      expectError(reply, 'validation_failed')
      expect(faultsOf(reply)).toEqual(['authorization: invalid_value'])
    }
  },
)

test('a request with one Authorization header is answered, whatever the case of the name', async () => {
  for (const name of ['Authorization', 'authorization', 'AUTHORIZATION']) {
    const headers = { [name]: `Bearer ${user.access_token}` }
    const { status, body } = await rawCall(service.url, 'GET', '/api/v1/auth/me', { headers })
    expect([status, body.user.id]).toEqual([200, user.user.id])
  }
})
