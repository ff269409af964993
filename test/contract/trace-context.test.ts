// Where a request stands in the trace of its caller, as the log lines show it.
import { randomBytes } from 'node:crypto'
import { beforeAll, expect, inject, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { createDatabase } from '../support/database.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, callHttp, type Json, PASSWORD, testDatabase } from '../support/service.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'
const traceparent = `00-${traceId}-${spanId}-01`

let server: ServerInstance
let databaseUrl: string

beforeAll(async () => {
  const database = await createDatabase(testDatabase(), inject('templates'))
  onFileEnd(() => database.drop())
  databaseUrl = database.url
  server = await startInstance({ DATABASE_URL: databaseUrl, ...bootstrapAdmin }, onFileEnd)
})

/** The log lines of one request. Waits for the line about the request itself, which comes after the reply. */
async function linesOf(requestId: string): Promise<Json[]> {
  const own = (): Json[] =>
    server
      .lines()
      .map((line) => JSON.parse(line) as Json)
      .filter((line) => line.request_id === requestId)
  await expect.poll(() => own().some(({ msg }) => msg === 'request')).toBe(true)
  return own()
}

/** Sends a request with these headers. Returns its log lines. */
async function linesWith(headers: Record<string, string>, path = '/api/v1/health'): Promise<Json[]> {
  const requestId = randomBytes(8).toString('hex')
  await callHttp(server.url + path, 'GET', { headers: { ...headers, 'x-request-id': requestId } })
  return linesOf(requestId)
}

test('every line of a request names the trace and the span of its caller', async () => {
  const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  await server.call('POST', '/admin/apps', { token, body: { code: 'shop', name: 'Shop', auto_grant_on_signup: true } })
  const body = { email: 'ada@example.com', password: PASSWORD, app_code: 'shop', linked_app_codes: ['nowhere'] }
  const headers = { traceparent, 'x-request-id': 'traced' }
  expect((await server.call('POST', '/auth/register', { headers, body })).status).toBe(201)
  const lines = await linesOf('traced')
  expect(lines.map(({ msg }) => msg)).toEqual(['linked apps skipped: unknown or not allowed', 'request'])
  for (const line of lines) expect(line).toMatchObject({ trace_id: traceId, span_id: spanId })
})

test.each(['/verify-email?token=x', '/nothing', '/metrics'])(
  'the line of a request for %s names the trace and the span of its caller',
  async (path) => {
    expect(await linesWith({ traceparent }, path)).toMatchObject([{ msg: 'request', trace_id: traceId, span_id: spanId }])
  },
)

test('a long path is cut in the log', async () => {
  const [line] = await linesWith({}, `/${'x'.repeat(10_000)}`)
  expect(line!.path).toHaveLength(500)
})

test('a trace is never used as the id of a request', async () => {
  const { headers } = await server.call('GET', '/health', { headers: { traceparent } })
  const requestId = headers.get('x-request-id') ?? ''
  expect(requestId).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/)
  expect(await linesOf(requestId)).toMatchObject([{ request_id: requestId, trace_id: traceId }])
})

test.each([
  ['what a later version adds', `01-${traceId}-${spanId}-01-more`],
  ['a later version without more', `cc-${traceId}-${spanId}-00`],
  ['flags that nobody knows', `00-${traceId}-${spanId}-ff`],
])('a traceparent with %s is read', async (_what, header) => {
  expect(await linesWith({ traceparent: header })).toMatchObject([{ trace_id: traceId, span_id: spanId }])
})

test.each([
  ['nothing', ''],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
  ['a span of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
  ['capitals', `00-${traceId.toUpperCase()}-${spanId}-01`],
  ['version ff', `ff-${traceId}-${spanId}-01`],
  ['more than version 00 has', `00-${traceId}-${spanId}-01-more`],
  ['a final dash', `00-${traceId}-${spanId}-01-`],
  ['more without a dash', `01-${traceId}-${spanId}-01more`],
  ['a short trace', `00-${traceId.slice(1)}-${spanId}-01`],
  ['a long trace', `00-${traceId}0-${spanId}-01`],
  ['no flags', `00-${traceId}-${spanId}`],
  ['digits that are none', `00-${traceId.replace('4', 'g')}-${spanId}-01`],
  ['blanks inside', `00 -${traceId}-${spanId}-01`],
  ['two of them', `${traceparent}, ${traceparent}`],
  ['two of a later version', `01-${traceId}-${spanId}-01-a, 01-${traceId}-${spanId}-01-b`],
])('a traceparent with %s names no trace', async (_what, header) => {
  const [line] = await linesWith({ traceparent: header })
  expect(line).toMatchObject({ msg: 'request', status: 200 })
  expect(line).not.toHaveProperty('trace_id')
  expect(line).not.toHaveProperty('span_id')
})

test('the line that says why a request failed names the trace', async () => {
  const db = createKnex({ databaseUrl, dbPoolMax: 1 })
  await db.schema.renameTable('users', 'users_elsewhere').finally(() => db.destroy())
  const headers = { traceparent, 'x-request-id': 'failed' }
  const body = { email: 'ada@example.com', password: PASSWORD, app_code: 'shop' }
  expect((await server.call('POST', '/auth/register', { headers, body })).status).toBeGreaterThanOrEqual(500)
  const lines = await linesOf('failed')
  expect(lines.map(({ msg }) => msg)).toContain('request failed')
  for (const line of lines) expect(line).toMatchObject({ trace_id: traceId, span_id: spanId })
})
