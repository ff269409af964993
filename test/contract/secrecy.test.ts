// What must not get out: canary values go in by every door, and no answer and no line of the log may hold one.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApp } from '../../packages/server/src/app.ts'
import { createLogger } from '../../packages/server/src/deps.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { insertInvitation, insertOrganization } from '../support/rows.ts'
import { buildApp, buildService, buildUser, callHttp, type Json, type TestService } from '../support/service.ts'

const canary = 'canary-7f3a-never-to-be-seen'
const hashForm = /\$2[aby]\$\d\d\$/

let service: TestService
let url: string
const lines: string[] = []
const answers: string[] = []
/** Tokens that the service gave; an answer may hold its own, the log none. */
const tokens = new Set<string>()

beforeAll(async () => {
  service = await buildService({}, onFileEnd)
  const logger = createLogger('trace', { write: (line) => void lines.push(line) })
  const server = createServer(createApp({ ...service.deps, logger }).callback())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterAll(() => new Promise((resolve) => server.close(resolve)))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`
})

async function send(method: string, path: string, body?: unknown, token?: string): Promise<{ status: number; body: Json }> {
  const reply = await callHttp(url + path, method, { body, token })
  const { access_token, refresh_token, ...rest } = reply.body ?? {}
  for (const given of [access_token, refresh_token]) if (given) tokens.add(given)
  answers.push(JSON.stringify(rest), JSON.stringify([...reply.headers]))
  return reply
}

function expectNothingSeen(): void {
  expect(lines.length).toBeGreaterThan(0)
  for (const text of [...lines, ...answers]) {
    expect(text).not.toContain(canary)
    expect(text).not.toMatch(hashForm)
    for (const token of tokens) expect(text).not.toContain(token)
  }
}

async function everyDoor(): Promise<void> {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const { id: organizationId } = await insertOrganization(service)
  const invitation = await insertInvitation(service, { organizationId })
  tokens.add(invitation)
  const email = `new-${user.email}`
  const newcomer = { email, password: canary, app_code: app.code }

  const registered = await send('POST', '/auth/register', { ...newcomer, invite_token: invitation })
  await send('POST', '/auth/register', newcomer)
  await send('POST', '/auth/register', { ...newcomer, mode: 'register_or_login' })
  await send('POST', '/auth/register', { ...newcomer, mode: canary })
  await send('POST', '/auth/register', { ...newcomer, email: canary })
  await send('POST', '/auth/register', { ...newcomer, email: `other-${email}`, password: `${canary}${'x'.repeat(1_024)}` })
  await send('POST', '/auth/register', { ...newcomer, email: `other-${email}`, password: [canary] })
  await send('POST', '/auth/register', { ...newcomer, email: `other-${email}`, password: { [canary]: canary } })
  await send('POST', '/auth/register', { ...newcomer, email: `other-${email}`, invite_code: canary })
  await send('POST', '/auth/register', { ...newcomer, email: `other-${email}`, first_name: 7, last_name: canary })
  const login = await send('POST', '/auth/login', newcomer)
  await send('POST', '/auth/login', { ...newcomer, two_factor_code: canary })
  await send('POST', '/auth/login', { ...newcomer, email: user.email })
  await send('POST', '/auth/login', { ...newcomer, organization_id: canary })
  await send('POST', '/auth/login', `{"password": "${canary}", `)
  await send('POST', '/auth/login', `"${canary}"`)
  const access = login.body.access_token ?? registered.body.access_token
  await send('GET', '/auth/me', undefined, access)
  await send('GET', `/auth/me?token=${canary}&access_token=${access}`, undefined, access)
  await send('GET', '/auth/me', undefined, canary)
  await send('GET', '/auth/me', undefined, `${access}${canary}`)
  await send('GET', '/admin/users', undefined, access)
  const refreshed = await send('POST', '/auth/refresh', { refresh_token: login.body.refresh_token ?? canary })
  await send('POST', '/auth/refresh', { refresh_token: canary })
  await send('POST', '/auth/refresh', { refresh_token: [canary] })
  await send('POST', '/auth/logout', { refresh_token: refreshed.body.refresh_token ?? canary })
  for (const path of ['/admin/users', `/admin/users/${user.id}`]) {
    const { body } = await service.admin('GET', path)
    answers.push(JSON.stringify(body))
  }
}

describe('no answer and no line of the log, at level trace, holds a password, a hash or a token', () => {
  test('while all is well', async () => {
    await everyDoor()
    expect(answers.join()).toContain('validation_failed')
    expectNothingSeen()
    const audit = JSON.stringify(await service.deps.db('audit_events'))
    expect(audit).not.toContain(canary)
    for (const token of tokens) expect(audit).not.toContain(token)
  })

  test.for(['refresh_tokens', 'sessions', 'user_roles', 'users'])('while %s is missing and statements fail', async (table) => {
    const { db } = service.deps
    lines.length = 0
    // Prepared while all is well: what fails is what the doors do with it.
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user, access_token, refresh_token } = await buildUser(service, app, { password: canary })
    for (const token of [access_token, refresh_token]) tokens.add(token)
    await db.schema.renameTable(table, `${table}_away`)
    const statuses: number[] = []
    try {
      const credentials = { email: user.email, password: canary, app_code: app.code }
      statuses.push((await send('POST', '/auth/login', credentials)).status)
      statuses.push((await send('POST', '/auth/register', { ...credentials, email: `other-${user.email}` })).status)
      statuses.push((await send('POST', '/auth/refresh', { refresh_token })).status)
      statuses.push((await send('GET', '/auth/me', undefined, access_token)).status)
    } finally {
      await db.schema.renameTable(`${table}_away`, table)
    }
    expect(statuses).toContain(500)
    expect(lines.join()).toContain('request failed')
    expectNothingSeen()
  })
})
