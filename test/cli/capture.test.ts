// What people see in a terminal of 40, 80 and 140 columns. An emulator draws it, so a
// line that is one cell too wide shows as two.
import { expect, test } from 'vitest'
import { machine, reply, standIn } from './sandbox.ts'
import { drawScreen, type Screen } from './screen.ts'

const minute = 60_000
const ago = (milliseconds: number) => new Date(Date.now() - milliseconds).toISOString()
const uuid = (end: string) => `01997c2f-0000-7000-8000-${end.padStart(12, '0')}`

const people = [
  { email: 'ada@example.com', first_name: 'Ada', last_name: 'Lovelace', status: 'active' },
  { email: 'wang@example.com', first_name: '王小明', last_name: '漢字漢字漢字', status: 'suspended' },
  { email: 'emoji@example.com', first_name: '👩‍💻👍🏽', last_name: '🎉 party', status: 'active' },
  { email: 'long@example.com', first_name: 'n'.repeat(200), last_name: null, status: 'deleted' },
]

const users = () =>
  people.map((person, index) => ({
    id: uuid(`${index}`),
    namespace: 'default',
    namespaces: index === 0 ? ['default', 'staff'] : ['default'],
    email_verified: true,
    created_at: ago((index + 1) * 2 * 24 * 60 * minute + minute),
    ...person,
  }))

const noNames = { actor: null, user: null, app: null }
const events = () => [
  event({
    event: 'login.failed',
    reason: 'wrong_password',
    user_id: uuid('1'),
    names: { ...noNames, user: 'wang@example.com@@default', app: 'shop' },
  }),
  event({
    event: 'grant.revoked',
    actor: { type: 'user', id: uuid('0') },
    user_id: uuid('1'),
    names: { actor: 'ada@example.com@@default', user: 'wang@example.com@@default', app: 'shop' },
    audit_reason: 'left the company 👋 in a hurry, and took the keys of the shop along',
  }),
  event({
    event: 'user.erased',
    actor: { type: 'service_account', id: uuid('9') },
    user_id: uuid('7'),
    names: { ...noNames, actor: 'billing deploys' },
  }),
]

function event(of: object) {
  const common = { reason: null, audit_reason: null, actor: { type: 'anonymous', id: null }, user_id: null, app_id: uuid('5') }
  const origin = { ip: '192.0.2.7', user_agent: 'curl/8', request_id: 'request-1', count: 1, details: null }
  return { id: uuid('e'), at: ago(5 * minute + 1000), ...common, ...origin, ...of }
}

async function screen(command: string, columns: number, env = {}): Promise<Screen> {
  const { url } = await standIn(({ path }, response) =>
    reply(response, 200, { items: path.includes('/audit') ? events() : users(), next_cursor: null }),
  )
  const terminal = machine().terminal(command, { env: { AUTHCTL_TOKEN: 't', AUTHCTL_BASE_URL: url, ...env }, columns })
  return drawScreen(await terminal.sent(), columns)
}

const shown = async (command: string, columns: number) => `\n${(await screen(command, columns)).lines.join('\n')}\n`

test('user find fits into 40 columns', async () => {
  expect(await shown('user find', 40)).toMatchInlineSnapshot(`
    "
    USER           STATUS     FIRST NAME
    ada@example.…  active     Ada
    wang@example…  suspended  王小明
    emoji@exampl…  active     👩‍💻👍🏽
    long@example…  deleted    nnnnnnnnnnnnn…
    left out: last_name, pools, created_at (
    ↩-o wide, or --columns)
    "
  `)
})

test('user find fits into 80 columns', async () => {
  expect(await shown('user find', 80)).toMatchInlineSnapshot(`
    "
    USER           STATUS     FIRST NAME     LAST NAME     POOLS          CREATED AT
    ada@example.…  active     Ada            Lovelace      default, sta…  2d ago
    wang@example…  suspended  王小明         漢字漢字漢字  default        4d ago
    emoji@exampl…  active     👩‍💻👍🏽           🎉 party      default        6d ago
    long@example…  deleted    nnnnnnnnnnnn…  -             default        8d ago
    "
  `)
})

test('user find fits into 140 columns', async () => {
  expect(await shown('user find', 140)).toMatchInlineSnapshot(`
    "
    USER               STATUS     FIRST NAME                                                            LAST NAME     POOLS           CREATED AT
    ada@example.com    active     Ada                                                                   Lovelace      default, staff  2d ago
    wang@example.com   suspended  王小明                                                                漢字漢字漢字  default         4d ago
    emoji@example.com  active     👩‍💻👍🏽                                                                  🎉 party      default         6d ago
    long@example.com   deleted    nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn…  -             default         8d ago
    "
  `)
})

test('audit list fits into 40 columns', async () => {
  expect(await shown('audit list', 40)).toMatchInlineSnapshot(`
    "
    AT      EVENT          USER
    5m ago  login.failed   wang@example.com
    5m ago  grant.revoked  wang@example.com
    5m ago  user.erased    01997c2f-0000-70…
    left out: actor, app, reason, count, ip,
    ↩ why (-o wide, or --columns)
    "
  `)
})

test('audit list fits into 80 columns', async () => {
  expect(await shown('audit list', 80)).toMatchInlineSnapshot(`
    "
    AT      EVENT         USER           ACTOR          APP            REASON
    5m ago  login.failed  wang@example…  anonymous      shop           wrong_passwo…
    5m ago  grant.revok…  wang@example…  ada@example.…  shop           -
    5m ago  user.erased   01997c2f-000…  billing depl…  01997c2f-000…  -
    left out: count, ip, why (-o wide, or --columns)
    "
  `)
})

test('audit list fits into 140 columns', async () => {
  expect(await shown('audit list', 140)).toMatchInlineSnapshot(`
    "
    AT      EVENT          USER                  ACTOR            APP                    REASON          COUNT  IP         WHY
    5m ago  login.failed   wang@example.com      anonymous        shop                   wrong_password  1      192.0.2.7  -
    5m ago  grant.revoked  wang@example.com      ada@example.com  shop                   -               1      192.0.2.7  left the company 👋 …
    5m ago  user.erased    01997c2f-0000-7000-…  billing deploys  01997c2f-0000-7000-8…  -               1      192.0.2.7  -
    "
  `)
})

test('--columns chooses the columns', async () => {
  expect(await shown('audit list --columns event,user,id', 80)).toMatchInlineSnapshot(`
    "
    EVENT          USER                         ID
    login.failed   wang@example.com             01997c2f-0000-7000-8000-00000000000e
    grant.revoked  wang@example.com             01997c2f-0000-7000-8000-00000000000e
    user.erased    01997c2f-0000-7000-8000-00…  01997c2f-0000-7000-8000-00000000000e
    "
  `)
})

test('states are coloured and titles bold, unless colours are turned off', async () => {
  const { coloursOf } = await screen('user find', 140)
  expect([coloursOf('USER'), coloursOf('ada@').slice(0, 3), coloursOf('wang@').slice(0, 3), coloursOf('long@')[1]]).toEqual([
    Array(9).fill('bold'),
    ['-', '2', '-'],
    ['-', '3', '-'],
    '1',
  ])
  const audit = await screen('audit list', 140)
  expect(audit.coloursOf('login.failed')).toContain('1')
  for (const [flags, env] of [
    ['--no-color', {}],
    ['', { NO_COLOR: '1' }],
  ] as const)
    expect(new Set((await screen(`user find ${flags}`, 140, env)).coloursOf('wang@'))).toEqual(new Set(['-']))
})
