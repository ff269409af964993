// `authctl top` as people see it: an emulator draws its output in terminals of 40, 80 and 140 columns.
import { expect, test } from 'vitest'
import { startPatientClock } from '../support/patient-clock.ts'
import { apiError, errorOf, gatehouseFixture, machine, parsed, reply, type StandIn, standIn, type Terminal } from './sandbox.ts'
import { drawScreen, type Screen } from './screen.ts'

/** The bound is 200 ms; the rest is for a busy machine. */
const longestMs = 1_500
const keys = { up: '\u001b[A', down: '\u001b[B', enter: '\r', escape: '\u001b', interrupt: '\u0003' }

const at = '2030-05-01T12:00:00.000Z'
const before = (seconds: number) => new Date(Date.parse(at) - seconds * 1000).toISOString()
const uuid = (end: string) => `01997c2f-0000-7000-8000-${end.padStart(12, '0')}`
/** Would move the cursor, set the title of the terminal and reverse the text direction. */
const hostile = 'eve\u001b[2J\u001b]0;pwned\u0007\u202e@example.com'

const stats = () => ({
  at,
  logins: {
    since: before(3600),
    counted_since: before(3600),
    outcomes: [
      { outcome: 'success', count: 1204 },
      { outcome: 'wrong_password', count: 30 },
      { outcome: 'account_locked', count: 7 },
    ],
    steps: Array.from({ length: 60 }, (_, step) => ({
      at: before(3600 - step * 60),
      succeeded: step === 59 ? 24 : 20,
      failed: step < 50 ? 0 : step === 50 ? 1 : 4,
    })),
  },
  failing_addresses: [
    { ip: '192.0.2.1', failures: 21, last_failed_at: before(4) },
    { ip: '2001:db8::7', failures: 16, last_failed_at: before(600) },
  ],
  failing_emails: [
    { email: 'ada@example.com', user_id: uuid('1'), pool: 'default', failures: 20, last_failed_at: before(4) },
    { email: hostile, user_id: null, pool: null, failures: 12, last_failed_at: before(61) },
    { email: 'wang@example.com', user_id: uuid('2'), pool: 'staff', failures: 5, last_failed_at: before(600) },
  ],
  locked: {
    count: 2,
    items: [
      { key: 'address:digest:default', email: 'ada@example.com', pool: 'default', locked_until: before(-600), failures: 10 },
      { key: 'two-factor:someone', email: null, pool: null, locked_until: before(-7200), failures: 10 },
    ],
  },
  outbox: [
    // All wait for another attempt.
    { kind: 'webhook', pending: 12, oldest_pending_seconds: 95, oldest_due_seconds: 0 },
    { kind: 'mail', pending: 0, oldest_due_seconds: 0 },
  ],
  failed_webhooks: [
    { app_code: 'shop', webhook: 'crm', failed: 1204, last_failed_at: before(40) },
    { app_code: 'notes', webhook: 'chat', failed: 2, last_failed_at: before(7200) },
  ],
  consumers: {
    app_count: 4,
    behind_count: 1,
    behind: [{ app_code: 'shop', current_last_seen_at: null, behind_last_seen_at: before(30) }],
  },
})

const event = (of: object) => ({
  ...{ id: uuid('e'), at: before(4), event: 'login.failed', reason: 'wrong_password', audit_reason: null },
  ...{ actor: { type: 'anonymous', id: null }, user_id: uuid('1'), app_id: uuid('5'), ip: '192.0.2.1', user_agent: 'curl/8' },
  ...{ request_id: 'request-1', count: 1, details: null },
  names: { actor: null, user: 'ada@example.com@@default', app: 'shop' },
  ...of,
})

const service = () =>
  standIn(({ path }, response) => {
    if (path.includes('/stats')) return reply(response, 200, stats())
    const items = [event({}), event({ reason: 'account_locked', at: before(61) })]
    reply(response, 200, { items, next_cursor: null })
  })

interface Watched {
  terminal: Terminal
  /** Waits until the screen shows this text, and returns the whole screen. */
  showing(text: string): Promise<Screen>
}

function watch({ url }: StandIn, columns: number, env = {}): Watched {
  const terminal = machine().terminal('top', { env: { AUTHCTL_TOKEN: 'a-secret-token', AUTHCTL_BASE_URL: url, ...env }, columns })
  return {
    terminal,
    async showing(text) {
      const draw = () => drawScreen(terminal.sentSoFar(), columns)
      await expect.poll(async () => (await draw()).lines.join('\n')).toContain(text)
      return draw()
    },
  }
}

/** The screen without the address of the service, which changes each time. */
const shown = ({ lines }: Screen) => `\n${lines.join('\n').replace(/127\.0\.0\.1:\d+/, 'service')}\n`

test('authctl top fits into 40 columns', async () => {
  const { showing } = watch(await service(), 40)
  expect(shown(await showing('q quits'))).toMatchInlineSnapshot(`
    "
    authctl top at http://service
    12:00:00Z, every 2 s

      Logins since 11:00:00Z
      succeeded  ████████████████████
      failed                     ▁███

    > Logins     1,204 succeeded, 37 failed
      Addresses  192.0.2.1 21, 2001:db8::7 …
      E-mails    ada@example.com 20, eve\\u0…
      Locked     2: ada@example.com (in 10m…
      Outbox     12 webhooks, the oldest wa…
      Webhooks   failed for good: crm of sh…
      Consumers  1 of 4 apps without the cu…

    ↑↓ choose  Enter opens  q quits
    "
  `)
})

test('authctl top fits into 80 columns', async () => {
  const { showing } = watch(await service(), 80)
  expect(shown(await showing('q quits'))).toMatchInlineSnapshot(`
    "
    authctl top at http://service
    12:00:00Z, every 2 s

      Logins since 11:00:00Z
      succeeded  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇█
      failed                                                       ▂█████████

    > Logins     1,204 succeeded, 37 failed
      Addresses  192.0.2.1 21, 2001:db8::7 16
      E-mails    ada@example.com 20, eve\\u001b[2J\\u001b]0;pwned\\u0007\\u202e@example…
      Locked     2: ada@example.com (in 10m), second factor (in 2h)
      Outbox     12 webhooks, the oldest waiting for 1m; no mail
      Webhooks   failed for good: crm of shop 1,204, chat of notes 2
      Consumers  1 of 4 apps without the current secret: shop

    ↑↓ choose  Enter opens  q quits
    "
  `)
})

test('authctl top fits into 140 columns', async () => {
  const { showing } = watch(await service(), 140)
  expect(shown(await showing('q quits'))).toMatchInlineSnapshot(`
    "
    authctl top at http://service
    12:00:00Z, every 2 s

      Logins since 11:00:00Z
      succeeded  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇█
      failed                                                       ▂█████████

    > Logins     1,204 succeeded, 37 failed
      Addresses  192.0.2.1 21, 2001:db8::7 16
      E-mails    ada@example.com 20, eve\\u001b[2J\\u001b]0;pwned\\u0007\\u202e@example.com 12, wang@example.com@@staff 5
      Locked     2: ada@example.com (in 10m), second factor (in 2h)
      Outbox     12 webhooks, the oldest waiting for 1m; no mail
      Webhooks   failed for good: crm of shop 1,204, chat of notes 2
      Consumers  1 of 4 apps without the current secret: shop

    ↑↓ choose  Enter opens  q quits
    "
  `)
})

test('Enter opens a list and the events behind a row, and Escape goes back', async () => {
  const there = await service()
  const { terminal, showing } = watch(there, 80)
  await showing('q quits')
  terminal.type(keys.down)
  await showing('> Addresses')
  terminal.type(keys.enter)
  expect(shown(await showing('FAILURES'))).toMatchInlineSnapshot(`
    "
    authctl top at http://service
    12:00:00Z, every 2 s

      Addresses

      ADDRESS      FAILURES  LAST FAILED AT
    > 192.0.2.1    21        4s ago
      2001:db8::7  16        10m ago

    ↑↓ choose  Enter opens  Esc back  q quits
    "
  `)
  terminal.type(keys.enter)
  expect(shown(await showing('REASON'))).toMatchInlineSnapshot(`
    "
    authctl top at http://service
    12:00:00Z, every 2 s

      Refused logins from 192.0.2.1

      AT      EVENT         USER             ACTOR      APP   REASON          COUNT
    > 4s ago  login.failed  ada@example.com  anonymous  shop  wrong_password  1
      1m ago  login.failed  ada@example.com  anonymous  shop  account_locked  1

    ↑↓ choose  Esc back  q quits
    "
  `)
  const asked = there.requests.map(({ path }) => path).filter((path) => path.includes('/audit'))
  expect(asked[0]).toBe('/api/v1/admin/audit?event=login.failed&ip=192.0.2.1&limit=200')
  terminal.type(keys.escape)
  await showing('FAILURES')
  terminal.type(keys.escape)
  await showing('> Addresses')
})

test('an outcome opens the refusals with this reason alone', async () => {
  const { terminal, showing } = watch(await service(), 80)
  await showing('q quits')
  terminal.type(keys.enter)
  await showing('OUTCOME')
  terminal.type('j')
  terminal.type('j')
  await showing('> account_locked')
  terminal.type(keys.enter)
  const { lines } = await showing('1m ago')
  expect(lines.filter((line) => line.includes('login.failed')).length).toBe(1)
  expect(lines.join('\n')).not.toContain('wrong_password')
})

test('every figure opens its list', async () => {
  const { terminal, showing } = watch(await service(), 80)
  await showing('q quits')
  for (const [name, text] of [
    ['Addresses', '2001:db8::7  16'],
    ['E-mails', 'wang@example.com@@staff'],
    ['Locked', 'LOCKED UNTIL'],
    ['Outbox', 'OLDEST DUE'],
    ['Webhooks', 'LAST FAILED AT'],
    ['Consumers', 'LAST WITHOUT'],
  ] as const) {
    terminal.type(keys.down)
    await showing(`> ${name}`)
    terminal.type(keys.enter)
    await showing(text)
    terminal.type(keys.escape)
    await showing(`> ${name}`)
  }
})

test('authctl top escapes what strangers typed, and shows no token', async () => {
  const { terminal, showing } = watch(await service(), 140)
  const { lines } = await showing('\\u001b[2J\\u001b]0;pwned\\u0007\\u202e')
  expect(lines[0]).toContain('authctl top')
  terminal.type(keys.down)
  terminal.type(keys.down)
  terminal.type(keys.enter)
  await showing('IS USER')
  const sent = terminal.sentSoFar()
  expect(sent).not.toContain('pwned\u0007')
  expect(sent).not.toContain('\u202e')
  expect(sent).not.toContain('a-secret-token')
})

test.each([
  ['q', 'q', 0],
  ['Ctrl-C', keys.interrupt, 130],
])('%s ends authctl top at once and restores the terminal, even if the service does not answer', async (_, key, exit) => {
  const there = await standIn(({ turn }, response) => {
    if (turn === 1) reply(response, 200, stats())
  })
  const { terminal, showing } = watch(there, 80)
  await showing('q quits')
  await expect.poll(() => there.requests.length).toBe(2)
  const clock = startPatientClock()
  terminal.type(key)
  expect((await terminal.ended()).exit).toBe(exit)
  expect(clock()).toBeLessThan(longestMs)
  const sent = await terminal.sent()
  // The earlier screen and its cursor are restored, and nothing of ours is left.
  expect(sent.lastIndexOf('\u001b[?1049l')).toBeGreaterThan(sent.lastIndexOf('\u001b[?1049h'))
  expect(sent.lastIndexOf('\u001b[?25h')).toBeGreaterThan(sent.lastIndexOf('\u001b[?25l'))
  expect((await drawScreen(sent, 80)).lines).toEqual([])
})

test('authctl top reports an outage, keeps its figures, and continues afterwards', async () => {
  let isAway = false
  const there = await standIn((_, response) => {
    if (isAway) reply(response, 503, apiError(503, 'unavailable'), { 'retry-after': '15' })
    else reply(response, 200, stats())
  })
  const { showing } = watch(there, 80)
  await showing('every 2 s')
  isAway = true
  expect((await showing('it is unavailable')).lines.join('\n')).toContain('1,204 succeeded')
  isAway = false
  await showing('every 2 s')
})

test('authctl top exits with 4 and the reason when the session has ended', async () => {
  let hasEnded = false
  const there = await standIn((_, response) => {
    if (hasEnded) reply(response, 401, apiError(401, 'token_revoked'))
    else reply(response, 200, stats())
  })
  const { terminal, showing } = watch(there, 80)
  await showing('q quits')
  hasEnded = true
  const { exit } = await terminal.ended()
  expect(exit).toBe(4)
  expect((await drawScreen(await terminal.sent(), 80)).lines.join(' ')).toContain('authctl: it is token_revoked')
})

test('authctl top shows no colours if NO_COLOR is set', async () => {
  const { showing } = watch(await service(), 80, { NO_COLOR: '1' })
  expect(new Set((await showing('q quits')).coloursOf('Locked'))).toEqual(new Set(['-']))
  const coloured = watch(await service(), 80)
  expect((await coloured.showing('q quits')).coloursOf('Locked')).toContain('3')
})

const { signedInOnce } = gatehouseFixture()

test('authctl top without a terminal exits with 2, and with --json it prints the figures once', async () => {
  const here = await signedInOnce()
  const { exit, stdout, stderr } = await here.authctl('top')
  expect([exit, stdout]).toEqual([2, ''])
  expect(stderr).toContain('authctl top --json')
  const dumb = here.terminal('top', { env: { TERM: 'dumb' } })
  expect((await dumb.ended()).exit).toBe(2)

  const once = await here.authctl('top --json')
  expect(once.exit).toBe(0)
  expect(parsed(once)).toMatchObject({ at: expect.any(String), locked: { count: 0, items: [] } })
  const refused = await here.authctl('top --json --since sometime')
  expect([refused.exit, errorOf(refused).code]).toEqual([6, 'invalid_time'])
  const long = await here.authctl('top --json --since 30d')
  expect([long.exit, errorOf(long).message]).toEqual([6, 'since: must be at most 7 days ago'])
})
