// What the limit per address counts of calls with a client secret.
import { expect, test } from 'vitest'
import { serviceFixture } from '../support/fixtures.ts'
import { buildApp } from '../support/service.ts'

const service = serviceFixture({ AUTH_RATE_LIMIT_IP: '20/60' }, { frozen: true })

test('a wrong secret is counted and a right one is not, even if the rest of the call is wrong', async () => {
  const app = await buildApp(service, { client: 'confidential' })
  const { body } = await service.admin('POST', `/admin/apps/${app.code}/client-secrets`)
  const call = async (client_secret: string) => {
    const form = { grant_type: 'refresh_token', refresh_token: 'unknown', client_id: app.code, client_secret }
    return (await fetch(`${service.url}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) })).status
  }
  for (let call_ = 0; call_ < 30; call_ += 1) expect(await call(body.secret)).toBe(400)
  const wrong = []
  for (let call_ = 0; call_ < 21; call_ += 1) wrong.push(await call('gcs_wrong'))
  expect(wrong.filter((status) => status === 401).length).toBeLessThanOrEqual(20)
  expect(wrong.at(-1)).toBe(429)
})
