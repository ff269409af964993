// The two tables of docs/operate/sizing.md: what one thing costs, as it was measured, and what that makes for a number of users.
import type { Runs } from '../test/bench/support/results.ts'

/** What people do. The page says the same in words. */
export const assumed = {
  /** Of all users, how many sign in on a day. */
  active: 0.5,
  /** For each of them. */
  refreshes: 8,
  /** For each of all users, on a day. */
  registrations: 0.001,
  /** Forgotten passwords for each login. Each sends the link, and later the notice of the change. */
  resets: 0.01,
  mailsOfReset: 2,
  mailsOfRegistration: 1,
  /** Of a day's requests, how many come in the busiest hour, and how much busier its busiest minute is. */
  busiestHour: 0.2,
  busiestMinute: 2,
  /** How busy the cores may be then. */
  busy: 0.6,
}
const sizes = [1_000, 100_000, 1_000_000, 10_000_000]
const costs = [10, 12] as const

/** The tables, from the last figures of the benches `sizing` and `growth`. */
export function sizingTables(runs: Runs): { costs: string; sizes: string } {
  const figureOf = (bench: string, what: string) => {
    const figure = runs[bench]?.figures.find((each) => each.what === what)
    if (!figure)
      throw new Error(`docs/reference/performance.json has no "${what}" of ${bench}: run npm run bench -- ${bench} --write`)
    return figure.ours
  }
  const of = (what: string) => figureOf('sizing', what)
  const hashed = (deed: string, cost: number) => of(`${deed}, cost ${cost}, the server`)
  const activeBytes = figureOf('growth', 'bytes of an active user after 12 months, postgres')
  const idleBytes = of('a user') + of('a grant')

  const rows = [
    ...costs.flatMap((cost) => [
      [`a login at bcrypt cost ${cost}`, ms(hashed('login', cost)), ms(of('login, Postgres'))],
      [`the same while eight are in flight`, ms(hashed('login, 8 at once', cost)), ms(of('login, Postgres'))],
      [`a registration at cost ${cost}`, ms(hashed('registration', cost)), ms(of('registration, Postgres'))],
    ]),
    ['a refresh', ms(of('refresh, the server')), ms(of('refresh, Postgres'))],
    ['`GET /auth/me`', ms(of('me, the server')), ms(of('me, Postgres'))],
  ]
  const bytes = [
    ['a user, as registered', of('a user')],
    ['a grant', of('a grant')],
    ['a session with its refresh token', of('a session with its token')],
    ['a refresh', of('refresh, in other tables')],
    ['a mail with its link, while it is kept', of('a mail with its link')],
    ['a login, in the audit', of('login, in the audit')],
    ['a registration, in the audit', of('registration, in the audit')],
    ['a user who comes every working day, after a year, without the audit', activeBytes],
  ] as const

  const day = sizes.map((users) => {
    const logins = users * assumed.active
    const refreshes = logins * assumed.refreshes
    const registrations = users * assumed.registrations
    const second = (perDay: number) => (perDay * assumed.busiestHour * assumed.busiestMinute) / 3_600
    const cores = (login: number, refresh: number, registration: number) =>
      (second(logins) * login + second(refreshes) * refresh + second(registrations) * registration) / 1_000 / assumed.busy
    const terms = [
      [second(logins), 'logins', hashed('login', 10) + of('login, Postgres')],
      [second(refreshes), 'refreshes', of('refresh, the server') + of('refresh, Postgres')],
      [second(registrations), 'registrations', hashed('registration', 10) + of('registration, Postgres')],
    ] as const
    const postgres = cores(of('login, Postgres'), of('refresh, Postgres'), of('registration, Postgres'))
    const server = (cost: number) => cores(hashed('login', cost), of('refresh, the server'), hashed('registration', cost))
    return {
      ...{ users, logins },
      sum: terms.map(([perSecond, what, each]) => `${rate(perSecond)} ${what} × ${ms(each)}`).join(' + '),
      peak: second(logins),
      peakRefreshes: second(refreshes),
      cores: costs.map((cost) => server(cost) + postgres),
      postgres,
      disk: users * (assumed.active * activeBytes + (1 - assumed.active) * idleBytes),
      audit: 365 * (logins * of('login, in the audit') + registrations * of('registration, in the audit')),
      mails: registrations * assumed.mailsOfRegistration + logins * assumed.resets * assumed.mailsOfReset,
    }
  })
  type Line = (typeof day)[number]
  const million = day.find(({ users }) => users === 1_000_000)!
  const [atCost10 = 0] = million.cores
  const line = (what: string, cell: (each: Line) => string) => `| ${what} | ${day.map(cell).join(' | ')} |`
  return {
    costs: [
      '| What | The server | Postgres |',
      '| --- | --- | --- |',
      ...rows.map((row) => `| ${row.join(' | ')} |`),
      '',
      '| What | Bytes of Postgres, indexes included |',
      '| --- | --- |',
      ...bytes.map(([what, each]) => `| ${what} | ${whole(each)} |`),
    ].join('\n'),
    sizes: [
      line('Users', ({ users }) => whole(users)),
      `| --- |${' --- |'.repeat(sizes.length)}`,
      line('logins a day', ({ logins }) => whole(logins)),
      line('logins a second, busiest minute', ({ peak }) => rate(peak)),
      line('refreshes a second, busiest minute', ({ peakRefreshes }) => rate(peakRefreshes)),
      ...costs.map((cost, index) => line(`cores at cost ${cost}, with those of Postgres`, ({ cores }) => coresOf(cores[index]!))),
      line('of these, Postgres', ({ postgres }) => coresOf(postgres)),
      line('Postgres without the audit', ({ disk }) => size(disk)),
      line('audit a year', ({ audit }) => size(audit)),
      line('mails a day', ({ mails }) => whole(mails)),
      '',
      `So the cores of a million users at cost 10 are: ${million.sum} = ${(atCost10 * assumed.busy).toFixed(1)} cores, ÷ ${assumed.busy} = ` +
        `${atCost10.toFixed(1)}, rounded up.`,
    ].join('\n'),
  }
}

const whole = (value: number) => Math.round(value).toLocaleString('en-US')
const ms = (value: number) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`
const rate = (value: number) => (value < 10 ? value.toFixed(value < 1 ? 2 : 1) : whole(value))
/** The next whole number, or the exact share of a core. */
const coresOf = (value: number) => (value < 1 ? `${Math.max(0.01, value).toFixed(2)}` : whole(Math.ceil(value)))

function size(bytes: number): string {
  for (const [unit, least] of [
    ['TB', 1e12],
    ['GB', 1e9],
  ] as const)
    if (bytes >= least) return `${(bytes / least).toFixed(bytes < 10 * least ? 1 : 0)} ${unit}`
  return `${Math.ceil(bytes / 1e6)} MB`
}
