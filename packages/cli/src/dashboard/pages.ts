import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf } from '../api/api-client.ts'
import { parsePast } from '../command-line/duration.ts'
import type { Failure } from '../command-line/exit-codes.ts'
import { parseAppRef } from '../nouns/app-ref.ts'
import { auditEventNames } from '../nouns/audit-event-names.ts'
import { type AuditEvent, auditColumns } from '../nouns/audit-events.ts'
import { ageOf, readStats, type Stats } from '../nouns/stats.ts'
import { withTriedEmail } from '../nouns/tried-email.ts'
import { findUserId, shownUser, userRefOf } from '../nouns/user-ref.ts'
import { type Column, cell, memberOf, nameOfColumn } from '../output/cells.ts'
import { stateStyle } from '../output/state-style.ts'
import { counted } from '../text/counted.ts'
import { type Html, type HtmlPart, html } from '../text/html.ts'
import { isMoment } from '../text/relative-time.ts'
import { type Asked, type Field, linkTo, searchForm } from './form.ts'
import type { PageName } from './layout.ts'

type Grant = components['schemas']['Grant'] & { user?: components['schemas']['User'] }
type Session = components['schemas']['Session']

/** How a page asks the service, with the session of the command line. */
export interface Source {
  api: Api
  /** Milliseconds since 1970. */
  now(): number
}

export interface Page {
  /** The fields that the page reads from its query. */
  fields: readonly string[]
  /** Shown above the results, even if they cannot be read. */
  form(asked: Asked): HtmlPart
  results(source: Source, asked: Asked): Promise<HtmlPart>
}

const pageSize = 50

interface ListSpec<Row extends object> {
  page: PageName
  /** What the rows are, in the plural: `users`. */
  about: string
  fields: readonly Field[]
  /** Fields of which the user has to fill in at least one to see results. */
  needs?: readonly string[]
  read(
    source: Source,
    asked: Asked,
    query: { limit: number; cursor?: string },
  ): Promise<{ items: Row[]; next_cursor: string | null }>
  columns: LinkedColumn<Row>[]
}

function listPage<Row extends object>({ page, about, fields, needs = [], read, columns }: ListSpec<Row>): Page {
  return {
    fields: [...fields.map(({ name }) => name), 'cursor'],
    form: (asked) => searchForm(page, fields, asked),
    async results(source, asked) {
      if (needs.length > 0 && needs.every((name) => asked[name] === undefined))
        return html`<p class="none results">Fill in ${needs.join(' or ')} to see ${about}.</p>`
      const { cursor, ...rest } = asked
      const { items, next_cursor } = await read(source, rest, { limit: pageSize, ...(cursor === undefined ? {} : { cursor }) })
      if (items.length === 0) return html`<p class="none results">No ${about}.</p>`
      const first = cursor === undefined ? '' : html`<a href="${linkTo(page, rest)}">First page</a> `
      const next = next_cursor === null ? '' : html`<a href="${linkTo(page, { ...rest, cursor: next_cursor })}">Next page</a>`
      return html`<div class="results">${dataTable(items, columns, about)}\n<p>${first}${next}</p><p class="none">Times are UTC.</p></div>`
    },
  }
}

const userField = { name: 'user', label: 'User', example: 'e-mail, email@@pool or UUID' }

export const pages: Readonly<Record<PageName, Page>> = {
  '': { fields: [], form: () => '', results: async ({ api }) => nowView(await readStats(api, undefined)) },
  users: listPage({
    page: 'users',
    about: 'users',
    fields: [
      { name: 'q', label: 'Part of the e-mail or of a name' },
      { name: 'app', label: 'May enter the app' },
      { name: 'pool', label: 'Pool' },
      { name: 'role', label: 'Role' },
      { name: 'status', label: 'Status', options: ['active', 'suspended', 'deleted'] },
    ],
    read: ({ api }, { pool, status, ...asked }, query) => {
      const filters = { ...asked, ...(pool && { namespace: pool }), ...(status && { status: status as 'active' }) }
      return bodyOf(api.GET('/api/v1/admin/users', { params: { query: { ...filters, ...query } } }))
    },
    columns: [
      ['user', (user) => shownUser(userRefOf(user))],
      ['status', ({ status }) => status],
      ['first name', ({ first_name }) => first_name],
      ['last name', ({ last_name }) => last_name],
      ['pools', ({ namespaces }) => namespaces],
      ['created', ({ created_at }) => created_at],
      ['sessions', () => 'sessions', ({ id }) => linkTo('sessions', { user: id })],
      ['grants', () => 'grants', ({ id }) => linkTo('grants', { user: id })],
      ['events', () => 'events', ({ id }) => linkTo('audit', { user: id })],
    ],
  }),
  sessions: listPage<Session>({
    page: 'sessions',
    about: 'sessions',
    fields: [userField],
    needs: ['user'],
    read: async ({ api }, { user = '' }, query) => readSessions(api, await findUserId(api, user), query),
    columns: [
      ['app', ({ app }) => app?.code],
      ['method', ({ auth_method }) => auth_method],
      ['address', ({ ip }) => ip, ({ ip }) => (ip === null ? undefined : linkTo('audit', { ip }))],
      ['began', ({ created_at }) => created_at],
      ['last used', ({ last_used_at }) => last_used_at],
      ['ends', ({ expires_at }) => expires_at],
      ['browser or program', ({ user_agent }) => user_agent],
    ],
  }),
  grants: listPage<Grant>({
    page: 'grants',
    about: 'grants',
    fields: [userField, { name: 'app', label: 'App', example: 'code or id' }],
    needs: ['user', 'app'],
    read: readGrants,
    columns: [
      ['app', ({ app_code }) => app_code, ({ app_code }) => linkTo('grants', { app: app_code })],
      [
        'user',
        ({ user, user_id }) => (user ? shownUser(userRefOf(user)) : user_id),
        ({ user_id }) => linkTo('grants', { user: user_id }),
      ],
      ['state', ({ effective }) => effective],
      ['via', ({ granted_via }) => granted_via],
      ['reason', ({ reason }) => reason],
      ['granted', ({ granted_at }) => granted_at],
      ['expires', ({ expires_at }) => expires_at],
      ['revoked', ({ revoked_at }) => revoked_at],
    ],
  }),
  audit: listPage<AuditEvent>({
    page: 'audit',
    about: 'events',
    fields: [
      { name: 'event', label: 'Event', options: auditEventNames },
      userField,
      { name: 'email', label: 'E-mail', example: 'of its users, and of refused logins' },
      { name: 'app', label: 'App', example: 'code or id' },
      { name: 'ip', label: 'Address' },
      { name: 'since', label: 'Since', example: '1h, 7d, 2026-12-31' },
      { name: 'until', label: 'Until', example: 'the same' },
    ],
    async read({ api, now }, { event, user, email, app, ip, since, until }, query) {
      const filters = {
        ...(event && { event: [event] }),
        ...(user && { user_id: await findUserId(api, user) }),
        ...(email && { email }),
        ...(app && { app_id: parseAppRef(app) }),
        ...(ip && { ip }),
        ...momentOf('since', since, now()),
        ...momentOf('until', until, now()),
      }
      const { items, next_cursor } = await bodyOf(api.GET('/api/v1/admin/audit', { params: { query: { ...filters, ...query } } }))
      return { items: items.map(withTriedEmail), next_cursor }
    },
    columns: plainColumns(auditColumns),
  }),
  webhooks: listPage({
    page: 'webhooks',
    about: 'deliveries',
    fields: [
      { name: 'app', label: 'App', example: 'code or id' },
      { name: 'status', label: 'Status', options: ['pending', 'delivered', 'failed'] },
    ],
    needs: ['app'],
    read: ({ api }, { app = '', status }, query) => {
      const filters = { ...(status && { status: status as 'pending' }), ...query }
      const params = { path: { appId: parseAppRef(app) }, query: filters }
      return bodyOf(api.GET('/api/v1/admin/apps/{appId}/webhook-deliveries', { params }))
    },
    // The URL is left out: that of a chat room is a secret.
    columns: [
      ['created', ({ created_at }) => created_at],
      ['webhook', ({ webhook }) => webhook],
      ['status', ({ status }) => status],
      ['attempts', ({ attempts }) => attempts],
      ['last answer', ({ last_status }) => last_status],
      ['error', ({ last_error }) => last_error],
      ['test', ({ test }) => test],
    ],
  }),
}

function momentOf(name: 'since' | 'until', typed: string | undefined, now: number): { since?: string; until?: string } {
  const moment = parsePast(name, typed, now)
  return moment === undefined ? {} : { [name]: moment }
}

type Listed<Row> = Promise<{ items: Row[]; next_cursor: string | null }>

async function readGrants({ api }: Source, { user, app }: Asked, query: { limit: number; cursor?: string }): Listed<Grant> {
  if (user === undefined) {
    const path = { appId: parseAppRef(app ?? '') }
    return bodyOf(api.GET('/api/v1/admin/apps/{appId}/users', { params: { path, query } }))
  }
  const path = { userId: await findUserId(api, user) }
  const { items, next_cursor } = await bodyOf(api.GET('/api/v1/admin/users/{userId}/apps', { params: { path, query } }))
  return { items: items.filter((grant) => app === undefined || [grant.app_code, grant.app_id].includes(app)), next_cursor }
}

function readSessions(api: Api, userId: string, query: { limit: number; cursor?: string }): Listed<Session> {
  return bodyOf(api.GET('/api/v1/admin/users/{userId}/sessions', { params: { path: { userId }, query } }))
}

function nowView(stats: Stats): Html {
  const { logins, failing_addresses, failing_emails, locked, outbox, failed_webhooks, consumers } = stats
  const outcomes = logins.outcomes.map(({ outcome, count }) => {
    const event = outcome === 'success' ? 'login.success' : 'login.failed'
    return { name: outcome, count, href: linkTo('audit', { event }) }
  })
  const addresses = failing_addresses.map(({ ip, failures }) => ({
    name: ip,
    count: failures,
    href: linkTo('audit', { event: 'login.failed', ip }),
  }))
  const emails = failing_emails.map(({ email, user_id, pool, failures }) => ({
    name: email === null ? (user_id ?? '-') : shownUser(`${email}@@${pool ?? 'default'}`),
    count: failures,
    href: linkTo('audit', { event: 'login.failed', ...(user_id === null ? { email } : { user: user_id }) }),
  }))
  const none = 'No login failed.'
  const isCut = logins.counted_since !== logins.since
  return html`<section><h2>Logins</h2>${loginsChart(stats)}
<p class="none">${isCut ? 'There are too many logins to count the whole hour. ' : ''}As of ${moment(stats.at)} UTC; reload the page for newer figures.</p></section>
<div class="cards">
<section><h2>By outcome</h2>${barTable(outcomes, { title: 'Outcome', none: 'No logins.' })}</section>
<section><h2>Failing addresses</h2>${barTable(addresses, { title: 'Address', none })}</section>
<section><h2>Failing e-mails</h2>${barTable(emails, { title: 'E-mail', none })}</section>
<section><h2>Locked</h2>${lockedView(locked)}</section>
<section><h2>Waiting to be sent</h2>${outboxView(outbox)}</section>
<section><h2>Webhook deliveries that failed for good</h2>${failedWebhooksView(failed_webhooks)}</section>
<section><h2>Consumers without the current secret</h2>${consumersView(consumers)}</section>
</div>`
}

function lockedView({ count, items }: Stats['locked']): Html {
  if (count === 0) return html`<p class="none">Nothing is locked.</p>`
  const columns: LinkedColumn<Stats['locked']['items'][number]>[] = [
    [
      'account',
      ({ email, pool, key }) => (email === null ? (key.split(':')[0] ?? key) : shownUser(`${email}@@${pool ?? 'default'}`)),
      ({ email }) => (email === null ? undefined : linkTo('audit', { event: 'login.failed', email })),
    ],
    ['failures', ({ failures }) => failures],
    ['until', ({ locked_until }) => locked_until],
  ]
  const more = count > items.length ? html`<p class="none">The newest ${items.length} of ${number(count)}.</p>` : ''
  return html`${dataTable(items, columns, 'Locked')}${more}`
}

function outboxView(outbox: Stats['outbox']): Html {
  const columns: LinkedColumn<Stats['outbox'][number]>[] = [
    ['kind', ({ kind }) => kind],
    ['pending', ({ pending }) => number(pending)],
    ['oldest waits for', (waiting) => counted(ageOf(waiting), 'second')],
  ]
  return dataTable(outbox, columns, 'Waiting to be sent')
}

function failedWebhooksView(failed: Stats['failed_webhooks']): Html {
  if (failed.length === 0) return html`<p class="none">None.</p>`
  const columns: LinkedColumn<Stats['failed_webhooks'][number]>[] = [
    ['app', ({ app_code }) => app_code, ({ app_code }) => linkTo('webhooks', { app: app_code, status: 'failed' })],
    ['webhook', ({ webhook }) => webhook],
    ['deliveries', ({ failed }) => number(failed)],
    ['last', ({ last_failed_at }) => last_failed_at],
  ]
  return dataTable(failed, columns, 'Webhook deliveries that failed for good')
}

function consumersView({ app_count, behind_count, behind }: Stats['consumers']): Html {
  if (behind_count === 0) return html`<p class="none">None, of ${counted(app_count, 'app')}.</p>`
  const columns: LinkedColumn<Stats['consumers']['behind'][number]>[] = [
    ['app', ({ app_code }) => app_code],
    ['last without', ({ behind_last_seen_at }) => behind_last_seen_at],
    ['last with', ({ current_last_seen_at }) => current_last_seen_at],
  ]
  return dataTable(behind, columns, 'Consumers without the current secret')
}

/** What went wrong, and what to do about it. */
export function failureView({ message, hint, requestId }: Failure): Html {
  return html`<section role="alert"><p class="fault key">${message}</p>
${hint === undefined ? '' : html`<p>${hint}</p>`}${requestId === undefined ? '' : html`<p class="none">Request ${requestId}</p>`}</section>`
}

const half = 50

/** Logins over time. Successes go up and refusals go down, so the chart does not depend on colour. */
function loginsChart({ logins, at }: Stats): Html {
  const { steps } = logins
  const highest = Math.max(1, ...steps.flatMap(({ succeeded, failed }) => [succeeded, failed]))
  const height = (count: number) => Number(((count / highest) * half).toFixed(2))
  const bars = steps.map(({ succeeded, failed }, step) => [
    succeeded > 0
      ? html`<rect class="succeeded" x="${step + 0.1}" y="${half - height(succeeded)}" width=".8" height="${height(succeeded)}"/>`
      : '',
    failed > 0 ? html`<rect class="failed" x="${step + 0.1}" y="${half}" width=".8" height="${height(failed)}"/>` : '',
  ])
  const total = (of: 'succeeded' | 'failed') => steps.reduce((sum, step) => sum + step[of], 0)
  const told = `${number(total('succeeded'))} logins succeeded and ${number(total('failed'))} were refused from ${clock(logins.counted_since)} to ${clock(at)}`
  return html`<figure>
<svg viewBox="0 0 ${Math.max(1, steps.length)} ${2 * half}" preserveAspectRatio="none" role="img" aria-label="${told}">${bars}
<line class="axis" x1="0" x2="${Math.max(1, steps.length)}" y1="${half}" y2="${half}"/></svg>
<div><span>${clock(logins.counted_since)}</span><span>${clock(at)}</span></div>
<figcaption><span class="key good">▲ succeeded ${number(total('succeeded'))}</span>, <span class="key fault">▼ refused ${number(total('failed'))}</span>; at most ${number(highest)} in a bar</figcaption>
</figure>`
}

interface Bar {
  name: string
  href?: string | undefined
  count: number
}

/** A table of counts, each with a bar. */
function barTable(bars: readonly Bar[], { title, none }: { title: string; none: string }): Html {
  if (bars.length === 0) return html`<p class="none">${none}</p>`
  const highest = Math.max(1, ...bars.map(({ count }) => count))
  const rows = bars.map(({ name, href, count }) => {
    const label = href === undefined ? name : html`<a href="${href}">${name}</a>`
    const width = ((count / highest) * 100).toFixed(2)
    const bar = html`<svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect class="plain" width="${width}" height="1"/></svg>`
    return html`<tr><th scope="row">${label}</th><td class="number">${number(count)}</td><td class="bar">${bar}</td></tr>\n`
  })
  return html`<table><thead><tr><th scope="col">${title}</th><th scope="col" class="number">Count</th><td></td></tr></thead>\n<tbody>${rows}</tbody></table>`
}

export function number(count: number): string {
  return count.toLocaleString('en-US')
}

function clock(moment: string): string {
  return `${moment.slice(11, 19)} UTC`
}

/** A column as in lists, with an optional link for its cells. */
type LinkedColumn<Row> = [title: string, cell: (row: Row) => unknown, href?: (row: Row) => string | undefined]

/** A table that scrolls sideways if it is wider than the window. */
function dataTable<Row extends object>(rows: readonly Row[], columns: readonly LinkedColumn<Row>[], about: string): Html {
  const head = columns.map(([title]) => html`<th scope="col">${titleOf(title)}</th>`)
  const body = rows.map((row) => html`<tr>${columns.map((column) => html`<td>${cellOf(row, column)}</td>`)}</tr>\n`)
  return html`<div class="scroll" role="region" aria-label="${about}" tabindex="0"><table>
<thead><tr>${head}</tr></thead>
<tbody>${body}</tbody></table></div>`
}

/** The columns of a list on the terminal, without the id and the `wide` ones. */
function plainColumns<Row extends object>(columns: readonly Column<Row>[]): LinkedColumn<Row>[] {
  return columns
    .filter((column) => column !== 'id' && (typeof column === 'string' || column[2] !== 'wide'))
    .map((column) => [nameOfColumn(column), (row) => memberOf(row, column)])
}

function cellOf<Row>(row: Row, [title, read, href]: LinkedColumn<Row>): HtmlPart {
  const value = read(row)
  if (isMoment(value)) return moment(value)
  const text = cell(value)
  const target = href?.(row)
  if (target !== undefined) return html`<a href="${target}">${text}</a>`
  const state = stateStyle(title, text)
  return state === undefined ? text : html`<span class="${{ green: 'good', yellow: 'warn', red: 'fault' }[state]}">${text}</span>`
}

export function moment(iso: string): Html {
  return html`<time class="time" datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)}</time>`
}

function titleOf(name: string): string {
  const words = name === 'ip' ? 'address' : name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
