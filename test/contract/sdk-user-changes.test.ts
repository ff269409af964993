// The SDK against the real service: an app that keeps a table of its users follows their changes.
import { setTimeout as sleep } from 'node:timers/promises'
import { createAuth, type UserChange, type UserChangeOptions } from '@gatehouse/sdk'
import { expect, onTestFinished, test } from 'vitest'
import { readAppSecret } from '../../packages/server/src/resources/apps/apps.ts'
import { systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { ACCESS_SECRET, buildApp, buildUser, type Json } from '../support/service.ts'

const service = serviceFixture()

const step = (app: Json, name: string) =>
  service.admin('POST', `/admin/apps/${app.code}/signing?force=true`, { body: { step: name } })

/** An app with its own key, and that key. */
async function ownApp(): Promise<{ app: Json; secret: string }> {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  await step(app, 'prepare')
  const { secret } = await readAppSecret(service.deps, app.code, systemActor)
  await step(app, 'switch')
  return { app, secret }
}

async function until(holds: () => unknown): Promise<void> {
  for (const end = performance.now() + 20_000; !holds(); await sleep(5)) {
    if (performance.now() > end) throw new Error(`never: ${holds}`)
  }
}

/** A backend of the app that follows the changes of its users. */
function follow(app: Json, secret: string, { since, ...options }: UserChangeOptions & { fail?: () => unknown } = {}) {
  const changes: UserChange[] = []
  const cursors: number[] = []
  const lines: string[] = []
  const auth = createAuth({
    authUrl: service.url,
    appCode: app.code,
    secret,
    revocation: { mode: 'off' },
    now: service.deps.clock,
    logger: { warn: (line) => void lines.push(line) },
  })
  onTestFinished(() => auth.close())
  const handler = async (change: UserChange) => {
    changes.push(change)
    await options.fail?.()
  }
  const stop = auth.onUserChange(handler, { since, onCursor: (cursor) => void cursors.push(cursor) })
  return { changes, cursors, lines, stop }
}

test('a backend that was away reads on from its cursor, and misses nothing', async () => {
  const { app, secret } = await ownApp()
  const { user, access_token: token } = await buildUser(service, app, { first_name: 'Ada' })
  await service.call('PATCH', '/auth/me', { token, body: { last_name: 'Lovelace' } })
  const first = follow(app, secret)
  await until(() => first.cursors.length > 0)
  const record = { user_id: user.id, email: user.email, first_name: 'Ada', last_name: 'Lovelace' }
  expect(first.changes).toEqual([expect.objectContaining({ type: 'names_changed', ...record, at: expect.any(String) })])
  first.stop()
  await service.admin('DELETE', `/admin/users/${user.id}`)
  const second = follow(app, secret, { since: first.cursors[0] })
  // The cursor moves only once no transaction of this Postgres, also of another test, is older than these changes.
  const types = () => second.changes.map(({ type }) => type)
  await until(() => types().includes('user_deleted') && types().includes('grant_ended'))
  expect([first.lines, second.lines]).toEqual([[], []])
})

test('a change whose handler fails is delivered again', async () => {
  const { app, secret } = await ownApp()
  const { access_token: token } = await buildUser(service, app)
  await service.call('PATCH', '/auth/me', { token, body: { last_name: 'Lovelace' } })
  let failures = 0
  const fail = async () => {
    if (failures++ === 0) throw new Error('the table is locked')
  }
  const { changes, cursors, lines } = follow(app, secret, { fail })
  await until(() => cursors.length === 1)
  expect(changes.map(({ type }) => type)).toEqual(['names_changed', 'names_changed'])
  expect(lines).toEqual(['gatehouse: a user change was not handled and will come again: Error'])
})

test('a cursor of another database causes a reset', async () => {
  const { app, secret } = await ownApp()
  const { changes, cursors } = follow(app, secret, { since: Number.MAX_SAFE_INTEGER })
  await until(() => cursors.length === 1)
  expect(changes).toEqual([{ type: 'reset' }])
  expect(cursors[0]).toBeLessThan(Number.MAX_SAFE_INTEGER)
})

test('a reader with the shared secret gets no changes, and the log says why', async () => {
  const app = await buildApp(service)
  const { changes, cursors, lines } = follow(app, ACCESS_SECRET)
  await until(() => lines.length === 1)
  expect(lines).toEqual(['gatehouse: user changes cannot be read: HTTP 403 own_key_required'])
  expect([changes, cursors]).toEqual([[], []])
})
