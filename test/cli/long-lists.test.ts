import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { startPatientClock } from '../support/patient-clock.ts'
import { cliProgram, machine, reply, type StandIn, standIn } from './sandbox.ts'

const total = 42_000

interface Row {
  [name: string]: unknown
}

const idOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`

function user(index: number): Row {
  return {
    id: idOf(index),
    email: `user-${index}@example.com`,
    namespace: 'default',
    namespaces: ['default'],
    first_name: index % 2 === 0 ? '漢字' : 'Ada',
    last_name: null,
    status: 'active',
  }
}

interface Listing extends StandIn {
  env: Record<string, string>
  /** How many pages were requested. */
  pagesAsked(): number
}

/**
 * A service with a list of `rows`, in pages of the requested size. `hold` can delay an
 * answer; it receives the function that sends it.
 */
async function serviceWithList(
  row: (index: number) => Row,
  { rows = total, hold }: { rows?: number; hold?: (page: number, send: () => void) => void } = {},
): Promise<Listing> {
  const answer = (path: string, response: ServerResponse) => {
    const query = new URL(path, 'http://service').searchParams
    const begin = Number(query.get('cursor') ?? 0)
    const end = Math.min(rows, begin + Number(query.get('limit')))
    const items = Array.from({ length: end - begin }, (_, offset) => row(begin + offset))
    const send = () => reply(response, 200, { items, next_cursor: end < rows ? String(end) : null })
    if (hold) hold(Math.floor(begin / 200) + 1, send)
    else send()
  }
  const service = await standIn(({ path }, response) => answer(path, response))
  return {
    ...service,
    env: { AUTHCTL_TOKEN: 'a-token', AUTHCTL_BASE_URL: service.url },
    pagesAsked: () => service.requests.length,
  }
}

test('42,000 users appear on a terminal page by page, and no line is wider than the terminal', async () => {
  let release = () => {}
  const { env, pagesAsked } = await serviceWithList(user, {
    hold: (page, send) => {
      if (page === total / 200) release = send
      else send()
    },
  })
  const list = machine().terminal('user find --all', { env, columns: 100 })
  await list.shows('user-199@example.com')
  expect(pagesAsked()).toBeLessThan(total / 200)
  await expect.poll(pagesAsked, { timeout: 60_000 }).toBe(total / 200)
  release()
  const { screen, exit } = await list.ended()
  expect(exit).toBe(0)
  const lines = screen.trimEnd().split('\n')
  expect(lines).toHaveLength(total + 1)
  expect(lines.at(-1)).toContain('user-41999@')
  // A Chinese character is two columns wide.
  const widest = Math.max(...lines.map((line) => line.length + (line.includes('漢字') ? 2 : 0)))
  expect(widest).toBeLessThanOrEqual(100)
  expect(lines[0]).toMatch(/^USER .* CREATED AT$/)
}, 90_000)

test.each(['user find', 'audit list'])('%s on a terminal stops after a screenful and says how to see more', async (command) => {
  const { env, pagesAsked } = await serviceWithList((index) => ({ ...user(index), event: 'x', at: 'now', actor: {} }))
  const here = machine()
  const short = await here.terminal(command, { env }).ended()
  expect(short.screen.trimEnd().split('\n')).toHaveLength(52)
  expect({ last: short.screen.trimEnd().split('\n').at(-1), exit: short.exit }).toEqual({
    last: 'only the first 50; --all shows the rest',
    exit: 0,
  })
  expect(pagesAsked()).toBe(1)
  // With --limit, or output for a program, the whole list is printed.
  for (const [flags, rows] of [
    ['--limit 60', 61],
    ['-o ndjson --limit 70', 70],
  ] as const)
    expect((await here.terminal(`${command} ${flags}`, { env }).ended()).screen.trimEnd().split('\n')).toHaveLength(rows)
  expect((await here.authctl(`${command} -o table --limit 300`, { env })).stdout.trimEnd().split('\n')).toHaveLength(301)
})

test('Ctrl-C shows the rows so far and exits with 130 while a list waits for a page', async () => {
  const { env, pagesAsked } = await serviceWithList(user, { hold: (page, send) => page < 3 && send() })
  for (const command of ['user find --all', 'user find -o json', 'user find -o ndjson', 'user find -o csv', 'user find -o id']) {
    const before = pagesAsked()
    const list = machine().terminal(command, { env })
    await list.shows(command.endsWith('id') ? idOf(399) : 'user-399@example.com')
    await expect.poll(pagesAsked).toBe(before + 3)
    list.type('\u0003')
    expect({ command, exit: (await list.ended()).exit }).toEqual({ command, exit: 130 })
  }
})

test('Ctrl-C exits with 130 in the middle of an endless list', async () => {
  const { env } = await serviceWithList(user, { rows: Number.MAX_SAFE_INTEGER })
  const list = machine().terminal('user find --all', { env })
  await list.shows('user-0@example.com')
  list.type('\u0003')
  expect((await list.ended()).exit).toBe(130)
})

test('Ctrl-C exits with 130 while a service that hangs renews the session', async () => {
  const { url, requests } = await standIn(({ path }, response) => {
    const tokens = { access_token: 'a', expires_in: 900, refresh_token: 'r', refresh_expires_in: 9000 }
    if (path.endsWith('/login')) reply(response, 200, { ...tokens, user: { id: 'u', email: 'ada@example.com' } })
  })
  const here = machine()
  await here.login(url)
  here.changeTokens('default', { renew_at: 0 })
  const list = here.terminal('user find')
  await expect.poll(() => requests.at(-1)?.path).toBe('/api/v1/auth/refresh')
  const clock = startPatientClock()
  list.type('\u0003')
  expect((await list.ended()).exit).toBe(130)
  // The bound is 200 ms; the rest is for a busy machine.
  expect(clock()).toBeLessThan(2_500)
})

test('a list as JSON is one document and begins before the list ends', async () => {
  let release = () => {}
  const { env, pagesAsked } = await serviceWithList(user, {
    rows: 1_001,
    hold: (page, send) => {
      if (page === 6) release = send
      else send()
    },
  })
  const here = machine()
  const child = spawn(process.execPath, [cliProgram, 'user', 'find'], { cwd: here.folder, env: { HOME: here.folder, ...env } })
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  const closed = once(child, 'close')
  await expect.poll(() => stdout).toContain('user-199@example.com')
  await expect.poll(pagesAsked).toBe(6)
  expect(stdout).not.toContain('user-1000@')
  release()
  expect((await closed)[0]).toBe(0)
  expect(stdout).toBe(
    `${JSON.stringify(
      Array.from({ length: 1_001 }, (_, index) => user(index)),
      undefined,
      2,
    )}\n`,
  )
})

test('a list that fails half-way exits with 7, and its JSON stays unclosed', async () => {
  const { url } = await standIn(({ path }, response) =>
    path.includes('cursor') ? response.destroy() : reply(response, 200, { items: [user(0)], next_cursor: 'next' }),
  )
  const env = { AUTHCTL_TOKEN: 'a-token', AUTHCTL_BASE_URL: url }
  const { stdout, exit } = await machine().authctl('user find --json', { env })
  expect(exit).toBe(7)
  expect(stdout).toContain('user-0@example.com')
  expect(() => JSON.parse(stdout)).toThrow()
})

test.each(['table', 'wide', 'csv', 'id', 'json', 'ndjson'])(
  'a list as %s is printed with less memory than its size',
  async (format) => {
    const count = 10_000
    const { env } = await serviceWithList((index) => ({ ...user(index), filler: `${index}`.padEnd(4_000, '.') }), { rows: count })
    const { stdout, stderr, exit } = await machine().authctlProcess(`user find -o ${format}`, {
      env: { ...env, NODE_OPTIONS: '--max-old-space-size=32' },
    })
    expect({ stderr, exit }).toEqual({ stderr: '', exit: 0 })
    expect(stdout).toContain(format === 'id' ? idOf(count - 1) : `user-${count - 1}@example.com`)
  },
  90_000,
)

test.each(['table', 'json', 'ndjson'])('a list as %s ends quietly if its reader stops early', async (format) => {
  const { env } = await serviceWithList(user, { rows: Number.MAX_SAFE_INTEGER })
  const here = machine()
  const child = spawn(process.execPath, [cliProgram, 'user', 'find', '-o', format], {
    cwd: here.folder,
    env: { HOME: here.folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (text) => {
    stderr += text
  })
  await once(child.stdout, 'data')
  child.stdout.destroy()
  const [exit] = await once(child, 'close')
  expect({ stderr, exit }).toEqual({ stderr: '', exit: 0 })
})

test('a table in a pipe is not truncated', async () => {
  const name = 'n'.repeat(500)
  const { env } = await serviceWithList((index) => ({ ...user(index), first_name: index === 300 ? name : 'Ada' }), { rows: 400 })
  const { stdout } = await machine().authctl('user find -o table', { env })
  expect(stdout).toContain(name)
  expect(stdout).not.toContain('…')
})

test('the grants of many apps are printed as one table', async () => {
  const apps = ['a', 'second', 'an-app-with-a-long-code']
  const { url } = await standIn(({ path }, response) => {
    const app = /apps\/([^/]+)\/users/.exec(path)?.[1]
    const grant = { app_code: app, user_id: 'u', user: user(1), status: 'active', granted_via: 'admin', granted_at: 'now' }
    reply(response, 200, { items: app ? [grant] : apps.map((id) => ({ id })), next_cursor: null })
  })
  const env = { AUTHCTL_TOKEN: 'a-token', AUTHCTL_BASE_URL: url }
  const { stdout } = await machine().authctl('grant list -o table', { env })
  const lines = stdout.trimEnd().split('\n')
  expect(lines.map((line) => line.search(/USER|user-1@/))).toEqual(Array(4).fill('an-app-with-a-long-code'.length + 2))
})
