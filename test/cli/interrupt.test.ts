// Ctrl-C ends a command wherever it waits.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startPatientClock } from '../support/patient-clock.ts'
import { apiError, type Machine, machine, reply, type StandIn, standIn, type Terminal } from './sandbox.ts'

/** The bound is 200 ms; the rest is for a busy machine. */
const longestMs = 1_500

/** Answers the first requests of a command and leaves later ones without an answer. */
const slowService = () =>
  standIn(({ method, path }, response) => {
    if (path.includes('/audit')) reply(response, 200, { items: [], next_cursor: null })
    else if (path.includes('/apps/busy')) reply(response, 503, apiError(503, 'unavailable'), { 'retry-after': '15' })
    else if (method === 'GET' && path.includes('/apps/')) reply(response, 200, { id: 'a', code: 'shop', status: 'active' })
    else if (path.includes('/namespaces')) reply(response, 200, { items: [], next_cursor: null })
    else if (path.includes('/users?')) reply(response, 200, { items: [{ id: 'u', email: 'bob@example.com' }], next_cursor: null })
  })

const asked = (path: string) => (_: Terminal, service: StandIn) =>
  expect.poll(() => service.requests.some((request) => request.path.includes(path))).toBe(true)
const shown = (text: string) => (terminal: Terminal) => terminal.shows(text)
/** Without a prompt the screen does not show that the program has started, so this waits until it handles Ctrl-C. */
const typed = (text: string) => async (terminal: Terminal) => {
  await expect.poll(() => terminal.catchesInterrupts()).toBe(true)
  terminal.type(text)
}

test.each<[string, waits: (terminal: Terminal, service: StandIn) => Promise<unknown>]>([
  ['login', shown('E-mail:')],
  ['login --email ada@example.com', shown('Password:')],
  ['app deactivate shop', shown('(yes/no)')],
  ['app delete shop', shown('type shop')],
  ['token inspect', shown('Token:')],
  ['grant add --app shop', shown('User: ')],
  ['app list', asked('/admin/apps')],
  ['app deactivate shop --yes', (_, service) => expect.poll(() => service.requests.at(-1)?.method).toBe('PATCH')],
  ['app show busy', shown('trying again in 15 s')],
  ['audit tail', asked('/admin/audit')],
  ['permission register -f -', typed('[')],
  ['login --email ada@example.com --password-stdin', typed('secret')],
  ['user import -f users.ndjson', asked('/import')],
  ['pool move --to staff --from-file users.txt --yes', asked('/admin/users')],
])('Ctrl-C ends "authctl %s" at once with exit 130', async (command, waits) => {
  const service = await slowService()
  const here: Machine = machine()
  writeFileSync(join(here.folder, 'users.ndjson'), '{"email":"a@example.com"}\n')
  writeFileSync(join(here.folder, 'users.txt'), 'bob@example.com\n')
  const env = { AUTHCTL_TOKEN: 'a-token', AUTHCTL_BASE_URL: service.url }
  const terminal = here.terminal(command, { env })
  await waits(terminal, service)
  const clock = startPatientClock()
  terminal.type('\u0003')
  expect((await terminal.ended()).exit).toBe(130)
  expect(clock()).toBeLessThan(longestMs)
})

test('a question whose input ends, as with Ctrl-D, counts as declined', async () => {
  const service = await slowService()
  const terminal = machine().terminal('app deactivate shop', { env: { AUTHCTL_TOKEN: 'a-token', AUTHCTL_BASE_URL: service.url } })
  await terminal.shows('(yes/no)')
  terminal.type('\u0004')
  const { exit, screen } = await terminal.ended()
  expect(exit).toBe(9)
  expect(screen).toContain('authctl: the input ended before an answer; nothing was done')
  expect(screen).not.toContain('Warning')
  expect(service.requests.map(({ method }) => method)).not.toContain('PATCH')
})
