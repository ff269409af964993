// What ends machine tokens: on one server and on two, at backends that follow the feed.
import { randomUUID } from 'node:crypto'
import { createAuth } from '@gatehouse/sdk'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { createDatabase } from '../support/database.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import {
  ACCESS_SECRET,
  ADMIN_EMAIL,
  bootstrapAdmin,
  claimsOf,
  type Json,
  type Reply,
  testDatabase,
  unique,
} from '../support/service.ts'

/** Things are taken away on `acting`. On `watching`, tokens are requested and backends listen. */
let acting: ServerInstance
let watching: ServerInstance
let adminToken: string

beforeAll(async () => {
  const database = await createDatabase(testDatabase(), inject('templates'))
  afterAll(() => database.drop())
  const settings = { ...bootstrapAdmin, DATABASE_URL: database.url, DB_POOL_MAX: '5' }
  acting = await startInstance(settings, onFileEnd)
  watching = testDatabase() === 'sqlite' ? acting : await startInstance(settings, onFileEnd)
  adminToken = (await acting.login(ADMIN_EMAIL, 'authctl')).body.access_token
})

async function admin(method: string, path: string, body?: object): Promise<Reply> {
  const reply = await acting.call(method, path, { body, token: adminToken })
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(reply.body)}`)
  return reply
}

interface Setup {
  app: Json
  account: Json
  read: string
  write: string
}

/** An app with two permissions, and an account that holds both. */
async function buildSetup(): Promise<Setup> {
  const code = unique('app')
  const [read, write] = [`${code}:read`, `${code}:write`] as const
  const app = (await admin('POST', '/admin/apps', { code, name: code, machine_tokens: true })).body
  const permissions = ['read', 'write'].map((action) => ({ code: `${code}:${action}`, name: action, resource: code, action }))
  await admin('POST', '/admin/permissions/register', { service: code, permissions })
  const settings = { name: randomUUID(), service: unique('caller'), scopes: ['tokens:issue'], app_codes: [code] }
  const account = (await admin('POST', '/admin/service-accounts', settings)).body
  await admin('PUT', `/admin/service-accounts/${account.id}/permissions`, { permissions: [read, write] })
  return { app, account, read, write }
}

function ask({ account, app }: Setup): Promise<Reply> {
  const body = { grant_type: 'client_credentials', app_code: app.code }
  return watching.call('POST', '/auth/token', { token: account.token, body })
}

/** A backend of the app that has read all revocations so far. */
async function buildBackend({ app }: Setup) {
  const auth = createAuth({ authUrl: watching.url, appCode: app.code, secret: ACCESS_SECRET, logger: false, check: 'off' })
  onTestFinished(() => auth.close())
  await auth.ready
  return auth
}

type Backend = Awaited<ReturnType<typeof buildBackend>>

async function codeAt(backend: Backend, token: string): Promise<string> {
  const result = await backend.safeVerify(token)
  return result.ok ? 'ok' : result.error.code
}

const path = ({ account }: Setup) => `/admin/service-accounts/${account.id}`

const ways: Record<string, (setup: Setup) => Promise<unknown>> = {
  'its own token is rotated': (setup) => admin('POST', `${path(setup)}/rotate`),
  'it is deleted': (setup) => admin('DELETE', path(setup)),
  'it loses a permission by a list': (setup) => admin('PUT', `${path(setup)}/permissions`, { permissions: [setup.read] }),
  'it loses one permission': (setup) => admin('PATCH', `${path(setup)}/permissions`, { remove: [setup.write] }),
  'it loses the scope': (setup) => admin('PATCH', path(setup), { scopes: ['permissions:register'] }),
  'it loses the app': (setup) => admin('PATCH', path(setup), { app_codes: ['authctl'] }),
  'it is made to expire': (setup) => admin('PATCH', path(setup), { expires_at: new Date(Date.now() + 3_600_000).toISOString() }),
  'the app disables machine tokens': ({ app }) => admin('PATCH', `/admin/apps/${app.id}`, { machine_tokens: false }),
  'the app is deactivated': ({ app }) => admin('PATCH', `/admin/apps/${app.id}`, { status: 'inactive' }),
  'the app is deleted': ({ app }) => admin('DELETE', `/admin/apps/${app.id}`),
}

describe('machine tokens after a loss of rights', () => {
  test.each(Object.entries(ways))('every backend refuses the tokens of a service account when %s', async (_, lose) => {
    const [setup, bystander] = [await buildSetup(), await buildSetup()]
    const [backend, elsewhere] = [await buildBackend(setup), await buildBackend(bystander)]
    const [token, other] = [(await ask(setup)).body.access_token, (await ask(bystander)).body.access_token]
    expect((await backend.verify(token)).userId).toBe(setup.account.id)
    await lose(setup)
    await expect.poll(() => codeAt(backend, token), { interval: 5, timeout: 20_000 }).toBe('TOKEN_REVOKED')
    expect(await codeAt(elsewhere, other)).toBe('ok')
  })
})

// Whichever comes first: a token that is requested meanwhile claims more than the account still has only until the feed ends it.
const losses: Record<string, (setup: Setup) => Promise<unknown>> = {
  'is rotated': ways['its own token is rotated']!,
  'is deleted': ways['it is deleted']!,
  'loses a permission': ways['it loses one permission']!,
  'loses the app': ways['the app disables machine tokens']!,
}

describe('machine tokens requested during a loss of rights', () => {
  test.each(Object.entries(losses))(
    'when the account %s, no token claims too much for longer than the feed takes',
    async (_, lose) => {
      for (let round = 0; round < 3; round += 1) {
        const setup = await buildSetup()
        const backend = await buildBackend(setup)
        const [replies] = await Promise.all([atOnce(16, () => ask(setup)), lose(setup)])
        const after = await ask(setup)
        const mayStill: string[] = after.status === 200 ? claimsOf(after.body.access_token).permissions : []
        const tokens = replies.flatMap(({ status, body }) => (status === 200 ? [body.access_token as string] : []))
        for (const reply of replies) expect([200, 401, 403]).toContain(reply.status)
        for (const token of tokens) {
          const saysMore = claimsOf(token).permissions.some((held: string) => !mayStill.includes(held))
          if (saysMore)
            await vi.waitFor(async () => expect(await codeAt(backend, token)).toBe('TOKEN_REVOKED'), { timeout: 20_000 })
          else expect(await codeAt(backend, token)).toBe('ok')
        }
      }
    },
  )
})
