import { expect, test } from 'vitest'
import { removeExpired } from '../../packages/server/src/workers/cleanup.ts'
import { buildApp, buildService, buildUser, type TestService } from '../support/service.ts'

const DAY_SECONDS = 86_400

async function countRows(service: TestService, table: string): Promise<number> {
  const row = await service.deps.db(table).count({ rows: '*' }).first()
  return row?.rows as number
}

test('what has expired is removed after AUTH_RETENTION_DAYS and not before; audit events stay for ever', async () => {
  const service = await buildService({
    AUTH_RETENTION_DAYS: '10',
    AUTH_RATE_LIMIT_IP: '1000/60',
    JWT_SESSION_MAX_SECONDS: String(2 * DAY_SECONDS),
  })
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user, refresh_token } = await buildUser(service, app)
  expect((await service.login(user.email, app.code, { password: 'a wrong password' })).status).toBe(401)
  await service.call('POST', '/auth/refresh', { body: { refresh_token } })
  await service.admin('DELETE', `/admin/users/${user.id}/apps/${app.id}`)
  const audited = await countRows(service, 'audit_events')

  await removeExpired(service.deps)
  for (const table of ['rate_limits', 'lockouts', 'sessions', 'refresh_tokens', 'revocations']) {
    expect([table, await countRows(service, table)]).not.toEqual([table, 0])
  }
  service.advance(9 * DAY_SECONDS)
  await removeExpired(service.deps)
  expect(await countRows(service, 'rate_limits')).toBe(0)
  expect(await countRows(service, 'lockouts')).toBe(0)
  expect(await countRows(service, 'revocations')).toBe(0)
  expect(await countRows(service, 'sessions')).toBeGreaterThan(0)

  service.advance(40 * DAY_SECONDS)
  await removeExpired(service.deps)
  expect(await countRows(service, 'sessions')).toBe(0)
  expect(await countRows(service, 'refresh_tokens')).toBe(0)
  expect(await countRows(service, 'audit_events')).toBe(audited)
})

test('a backlog of more than one batch is removed whole', async () => {
  const service = await buildService()
  const rows = Array.from({ length: 1_234 }, (_, index) => ({ key: `ip:${index}`, count: 1, resets_at: 1 }))
  for (let start = 0; start < rows.length; start += 200)
    await service.deps.db('rate_limits').insert(rows.slice(start, start + 200))
  await removeExpired(service.deps)
  expect(await countRows(service, 'rate_limits')).toBe(0)
})
