// Permissions registered while the service comes and goes.
import { type AuthEvent, createAuth, definePermissions } from '@gatehouse/sdk'
import { afterEach, expect, inject, onTestFinished, test, vi } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { startInstance } from '../support/server-instance.ts'
import { ACCESS_SECRET, ADMIN_EMAIL, bootstrapAdmin, testDatabase } from '../support/service.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

test('a backend that starts before the service registers its permissions as soon as the service is up', async () => {
  const database = await createDatabase(testDatabase(), inject('templates'))
  onTestFinished(() => database.drop())
  const settings = {
    DATABASE_URL: database.url,
    ...bootstrapAdmin,
  }
  const first = await startInstance(settings)
  const token = (await first.login(ADMIN_EMAIL, 'authctl')).body.access_token
  const account = await first.call('POST', '/admin/service-accounts', { body: { name: 'boot', service: 'notes' }, token })
  await first.stop()

  // Makes the waits between attempts as short as possible.
  vi.spyOn(Math, 'random').mockReturnValue(0)
  const events: AuthEvent[] = []
  const auth = createAuth({
    authUrl: first.url,
    appCode: 'notes',
    secret: ACCESS_SECRET,
    serviceToken: account.body.token,
    permissions: definePermissions('notes', { 'notes:read': 'Read notes' }),
    revocation: { mode: 'off' },
    onEvent: (event) => events.push(event),
  })
  onTestFinished(() => auth.close())
  const { ready } = auth.registerPermissions()
  await vi.waitUntil(() => events.length > 0, { timeout: 60_000 })
  expect(auth.health().registration).toBe('pending')
  const second = await startInstance({ ...settings, PORT: new URL(first.url).port })
  expect(await ready).toEqual({ created: 1, updated: 0, pruned: 0, unchanged: 0 })
  expect(events.map(({ type }) => type)).toEqual(['registration.delayed', 'registration.registered'])
  const again = (await second.login(ADMIN_EMAIL, 'authctl')).body.access_token
  const listed = await second.call('GET', '/admin/permissions?service=notes', { token: again })
  expect(listed.body.items).toMatchObject([{ code: 'notes:read', name: 'Read notes' }])
})
