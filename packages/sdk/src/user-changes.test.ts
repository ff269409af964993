import { expect, onTestFinished, test } from 'vitest'
import { createAuth, type UserChange, type UserChangeOptions } from './index.ts'
import { type Answer, answer, buildService, settle, stoppedClock, until } from './test-service.ts'
import { SECRET } from './test-tokens.ts'

const time = stoppedClock()

const page = (types: string[], cursor: number, more: object = {}): Answer => {
  const items = types.map((type) => ({ cursor, type, user_id: 'u-1', email: null, first_name: null, last_name: null, at: '' }))
  return answer(200, { items, cursor, app_id: 'a-1', has_more: false, reset: false, ...more })
}

/** A service that gives these answers, then that nothing is new, and an app that follows it. */
async function follow(
  answers: Answer[],
  { onChange = async () => {}, ...options }: UserChangeOptions & { onChange?: (type: string) => unknown } = {},
) {
  const service = await buildService((response, request) => {
    const { length } = service.requests
    const nothing = page([], Number(new URL(request.url!, service.url).searchParams.get('since')))
    ;(answers[length - 1] ?? nothing)(response, request)
  })
  /** What was called, in its order. */
  const calls: unknown[] = []
  const lines: string[] = []
  const auth = createAuth({
    authUrl: service.url,
    appCode: 'billing',
    secret: SECRET,
    revocation: { mode: 'off' },
    now: time.now,
    logger: { warn: (line) => void lines.push(line) },
  })
  onTestFinished(() => auth.close())
  const handler = async ({ type }: UserChange) => {
    calls.push(type)
    await onChange(type)
  }
  const onCursor = (cursor: number) => {
    calls.push(cursor)
    return options.onCursor?.(cursor)
  }
  const stop = auth.onUserChange(handler, { ...options, onCursor })
  const asked = () => service.requests.map(({ url }) => url!.replace('/api/v1/consumer/changes', ''))
  return { auth, stop, calls, lines, asked }
}

test('changes arrive one at a time before their cursor, all pages at once and then every 30 to 60 s', async () => {
  let running = 0
  const onChange = async () => {
    expect(++running).toBe(1)
    await settle(5)
    running -= 1
  }
  const answers = [page(['email_changed', 'grant_ended'], 11, { has_more: true }), page(['user_deleted'], 12)]
  const { calls, asked } = await follow(answers, { since: 7, onChange })
  await until(() => calls.length === 3)
  await time.advance(1_000)
  await until(() => calls.length === 5)
  expect(calls).toEqual(['email_changed', 'grant_ended', 11, 'user_deleted', 12])
  expect(asked()).toEqual(['?since=7', '?since=11'])
  await time.advance(44_000)
  expect(asked()).toHaveLength(2)
  await time.advance(2_000)
  await until(() => asked().length === 3)
  expect(asked()[2]).toBe('?since=12')
  await settle()
  // A cursor that is still the same is not given again.
  expect(calls).toHaveLength(5)
})

test.each([undefined, null])('onUserChange without a cursor (%s) starts with the oldest change', async (since) => {
  const { calls, asked } = await follow([page(['names_changed'], 3)], { since })
  await until(() => calls.length === 2)
  expect([asked(), calls]).toEqual([[''], ['names_changed', 3]])
})

test('a reset arrives before the changes that are kept', async () => {
  const { calls } = await follow([page(['names_changed'], 3, { reset: true })], { since: 900 })
  await until(() => calls.length === 3)
  expect(calls).toEqual(['reset', 'names_changed', 3])
})

test.each(['handler', 'onCursor'])(
  'a page is repeated from the same cursor, more and more slowly, if the %s throws',
  async (at) => {
    let failing = true
    const fail = async () => {
      if (failing) throw new TypeError('ada@example.com is there already')
    }
    const again = page(['names_changed', 'user_deleted'], 11)
    const options = at === 'handler' ? { onChange: (type: string) => type === 'user_deleted' && fail() } : { onCursor: fail }
    const { calls, asked, lines } = await follow(Array(8).fill(again), { since: 7, ...options })
    await until(() => calls.length > 1)
    await time.advance(1_000)
    await until(() => asked().length === 2)
    await settle()
    await time.advance(1_000)
    expect(asked()).toHaveLength(2)
    await time.advance(1_000)
    await until(() => asked().length === 3)
    await settle()
    failing = false
    await time.advance(4_000)
    await until(() => asked().length === 4)
    await settle()
    const page1 = ['names_changed', 'user_deleted', ...(at === 'onCursor' ? [11] : [])]
    expect(calls).toEqual([...page1, ...page1, ...page1, 'names_changed', 'user_deleted', 11])
    expect(asked()).toEqual(Array(4).fill('?since=7'))
    expect(lines).toEqual(['gatehouse: a user change was not handled and will come again: TypeError'])
  },
)

test.each([
  ['a refusal', answer(403, { status: 403, code: 'own_key_required' }), 45_000, 'HTTP 403 own_key_required'],
  ['an outage', answer(503), 2_000, 'HTTP 503 (not an answer of the service)'],
  ['an answer of something else', answer(200, { ok: true }), 45_000, 'no cursor'],
])('%s is logged once and tried again', async (_, refusal, waitMs, reason) => {
  const { calls, lines, asked } = await follow([refusal, refusal, page(['names_changed'], 3)])
  for (const times of [1, 2]) {
    await until(() => asked().length === times)
    await settle()
    await time.advance(waitMs)
  }
  await until(() => calls.length === 2)
  expect(calls).toEqual(['names_changed', 3])
  expect(lines[0]).toBe(`gatehouse: user changes cannot be read: ${reason}`)
  expect(lines.filter((line) => !/more in \d+ s$/.test(line))).toHaveLength(1)
})

test.each(['stop', 'close'] as const)('onUserChange asks and calls nothing after %s, also within a page', async (how) => {
  const onChange = () => (how === 'stop' ? followed.stop() : followed.auth.close())
  const followed = await follow([page(['names_changed', 'user_deleted'], 11)], { onChange })
  await until(() => followed.calls.length === 1)
  await settle()
  await time.advance(120_000)
  expect([followed.calls, followed.asked(), followed.lines]).toEqual([['names_changed'], [''], []])
})
