import {
  type Meter,
  type MeterProvider,
  type MetricOptions,
  metrics,
  type Span,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { assembleAuth } from './auth.ts'
import { readConfig } from './config.ts'
import { type AuthOptions, createAuth, definePermissions } from './index.ts'
import { answer, buildService, settle, until } from './test-service.ts'
import { NOW, SECRET, signToken } from './test-tokens.ts'

// With the real API of OpenTelemetry, and a recorder behind it.

let spans: { name: string; root: boolean; attributes: object; status?: object; isEnded: boolean }[]
let counts: [name: string, attributes: object][]
let descriptions: Record<string, string | undefined>

function record(): void {
  const tracer = {
    startSpan(name, { root = false, attributes = {} } = {}) {
      const span: (typeof spans)[number] = { name, root, attributes: { ...attributes }, isEnded: false }
      spans.push(span)
      return {
        setAttribute: (key: string, value: string) => Object.assign(span.attributes, { [key]: value }),
        setStatus: (status: object) => Object.assign(span, { status }),
        end: () => Object.assign(span, { isEnded: true }),
      } as unknown as Span
    },
  } as Tracer
  const meter = {
    createCounter(name: string, { description }: MetricOptions = {}) {
      descriptions[name] = description
      return { add: (count: number, attributes: object) => void counts.push([name, { count, ...attributes }]) }
    },
  } as unknown as Meter
  trace.setGlobalTracerProvider({ getTracer: () => tracer } as TracerProvider)
  metrics.setGlobalMeterProvider({ getMeter: () => meter } as MeterProvider)
}

beforeEach(() => {
  spans = []
  counts = []
  descriptions = {}
})
afterEach(() => {
  trace.disable()
  metrics.disable()
})

const app = { 'gatehouse.app_code': 'billing' }
const usual = { appCode: 'billing', secret: SECRET, issuer: 'gatehouse', logger: false, now: () => NOW * 1000 } as const

async function buildAuth(options: AuthOptions = {}) {
  const auth = createAuth({ ...usual, revocation: { mode: 'off' }, ...options })
  onTestFinished(() => auth.close())
  await vi.dynamicImportSettled()
  return auth
}

test('verifications create spans and counters with the code of a refusal', async () => {
  record()
  const auth = await buildAuth()
  await auth.verify(signToken())
  auth.verifySync(signToken())
  await auth.safeVerify(signToken({ exp: 1 }))
  const refused = { ...app, 'error.type': 'TOKEN_EXPIRED' }
  expect(spans).toMatchObject([
    { name: 'gatehouse.verify', attributes: app, isEnded: true },
    { name: 'gatehouse.verify', attributes: app, isEnded: true },
    {
      name: 'gatehouse.verify',
      attributes: refused,
      status: { code: 2, message: expect.stringContaining('exp was') },
      isEnded: true,
    },
  ])
  expect(counts).toEqual([
    ['gatehouse.verifications', { count: 1, ...app, result: 'ok' }],
    ['gatehouse.verifications', { count: 1, ...app, result: 'ok' }],
    ['gatehouse.verifications', { count: 1, ...app, result: 'TOKEN_EXPIRED' }],
  ])
  expect(JSON.stringify([spans, counts])).not.toMatch(/eyJ|ada@example/)
})

test('calls and feeds create spans and counters, and no span lasts as long as the stream', async () => {
  record()
  const service = await buildService((response, { url }) => {
    if (url!.includes('/stream')) response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n')
    else if (/revocations|changes/.test(url!)) answer(200, { items: [], cursor: 1 })(response, {} as never)
    else answer(403, { status: 403, code: 'scope_required' })(response, {} as never)
  })
  const permissions = definePermissions('billing', { 'invoices:read': 'Read invoices' })
  const auth = await buildAuth({ authUrl: service.url, serviceToken: 'gsa_x', permissions })
  await expect(auth.registerPermissions().ready).rejects.toMatchObject({ code: 'SERVICE_REJECTED' })
  const attributes = { ...app, 'http.request.method': 'POST', 'url.path': '/api/v1/admin/permissions/register' }
  expect(spans).toMatchObject([
    {
      name: 'gatehouse POST /admin/permissions/register',
      root: false,
      attributes: { ...attributes, 'http.response.status_code': 403, 'error.type': '403' },
      status: { code: 2 },
      isEnded: true,
    },
  ])
  expect(counts).toEqual([
    ['gatehouse.calls', { count: 1, ...app, route: '/admin/permissions/register', result: '403' }],
    ['gatehouse.events', { count: 1, ...app, type: 'registration.rejected' }],
  ])

  spans = []
  const follower = await buildAuth({ authUrl: service.url, revocation: { mode: 'feed' } })
  await until(() => counts.filter(([, { type }]: [string, { type?: string }]) => type === 'revocation.connected').length === 2)
  const cursors: number[] = []
  follower.onUserChange(() => {}, { onCursor: (cursor) => cursors.push(cursor) })
  await until(() => cursors.length === 1)
  await settle()
  // The span of the stream ends when the stream is open.
  expect(spans.every(({ root, isEnded }) => root && isEnded)).toBe(true)
  const names = spans.map(({ name }) => name)
  expect(names.filter((name) => !name.startsWith('gatehouse GET /revocations'))).toEqual(['gatehouse GET /consumer/changes'])
  expect(counts).toContainEqual(['gatehouse.events', { count: 1, ...app, type: 'revocation.connected' }])
  expect(JSON.stringify([spans, counts])).not.toMatch(/eyJ|gsa_/)
  await follower.close()
})

test('each counter has a description, which the collector passes on', async () => {
  record()
  await buildAuth()
  expect(descriptions).toEqual({
    'gatehouse.verifications': 'Access tokens verified',
    'gatehouse.calls': 'Calls to the service',
    'gatehouse.events': 'Events passed to onEvent',
  })
})

test('no counter is created if OpenTelemetry is installed but not registered', async () => {
  const load = async () => {
    const config = readConfig({ ...usual, revocation: { mode: 'off' } })
    await assembleAuth(config).verify(signToken())
    await vi.dynamicImportSettled()
    return config.count
  }
  expect(await load()).toBeUndefined()
  record()
  expect(await load()).toBeDefined()
})
