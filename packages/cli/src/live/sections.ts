import type { AuditQuery } from '../nouns/audit-events.ts'
import { ageOf, loginTotals, type Stats } from '../nouns/stats.ts'
import { shownUser } from '../nouns/user-ref.ts'
import type { Column } from '../output/cells.ts'
import { counted } from '../text/counted.ts'
import { relativeTime } from '../text/relative-time.ts'

/** The audit events behind a row. */
export interface Trail {
  title: string
  query: AuditQuery
  /** Keeps only the events with this reason. */
  reason?: string
}

/** One line of the overview, and the list that it opens. */
export interface Section {
  name: string
  /** A summary in a few words. The most important ones come first, since a narrow terminal cuts the rest. */
  summarize(stats: Stats, now: number): string
  isAlarming(stats: Stats): boolean
  rows(stats: Stats): object[]
  columns: Column<never>[]
  none: string
  /** What a row of the list leads to. */
  leadsTo(stats: Stats, row: number): Trail | undefined
}

interface SectionSpec<Row extends object> {
  name: string
  summarize(stats: Stats, now: number): string
  isAlarming?: (stats: Stats) => boolean
  rows(stats: Stats): Row[]
  columns: Column<Row>[]
  none: string
  leadsTo?: (row: Row) => Trail | undefined
}

function section<Row extends object>({
  isAlarming = () => false,
  leadsTo = () => undefined,
  ...spec
}: SectionSpec<Row>): Section {
  return {
    ...spec,
    isAlarming,
    leadsTo(stats, index) {
      const row = spec.rows(stats)[index]
      return row && leadsTo(row)
    },
  }
}

const number = (count: number) => count.toLocaleString('en-US')

/** What the screen shows, from top to bottom. */
export const sections: readonly Section[] = [
  section({
    name: 'Logins',
    summarize(stats) {
      const { succeeded, failed } = loginTotals(stats)
      return `${number(succeeded)} succeeded, ${number(failed)} failed`
    },
    rows: ({ logins }) => logins.outcomes,
    columns: ['outcome', ['count', ({ count }) => number(count)]],
    none: 'no logins',
    leadsTo: ({ outcome }) =>
      outcome === 'success'
        ? { title: 'Logins that succeeded', query: { event: ['login.success'] } }
        : { title: `Logins refused as ${outcome}`, query: { event: ['login.failed'] }, reason: outcome },
  }),
  section<Stats['failing_addresses'][number]>({
    name: 'Addresses',
    summarize: ({ failing_addresses }) =>
      listed(
        failing_addresses.map(({ ip, failures }) => `${ip} ${number(failures)}`),
        'no failures',
      ),
    rows: ({ failing_addresses }) => failing_addresses,
    columns: [['address', ({ ip }) => ip], ['failures', ({ failures }) => number(failures)], 'last_failed_at'],
    none: 'no login failed',
    leadsTo: ({ ip }) => ({ title: `Refused logins from ${ip}`, query: { event: ['login.failed'], ip } }),
  }),
  section({
    name: 'E-mails',
    summarize: ({ failing_emails }) =>
      listed(
        failing_emails.map((row) => `${nameOf(row)} ${number(row.failures)}`),
        'no failures',
      ),
    rows: ({ failing_emails }) => failing_emails,
    columns: [
      ['e-mail', nameOf],
      ['failures', ({ failures }) => number(failures)],
      'last_failed_at',
      ['is_user', ({ user_id }) => user_id !== null],
    ],
    none: 'no login failed',
    leadsTo: (row) => ({
      title: `Refused logins of ${nameOf(row)}`,
      query: { event: ['login.failed'], ...(row.user_id === null ? { email: row.email ?? '' } : { user_id: row.user_id }) },
    }),
  }),
  section({
    name: 'Locked',
    isAlarming: ({ locked }) => locked.count > 0,
    summarize: ({ locked }, now) =>
      locked.count === 0
        ? 'nothing'
        : `${number(locked.count)}: ${locked.items.map(({ email, key, locked_until }) => `${email ?? kindOf(key)} ${until(locked_until, now)}`).join(', ')}`,
    rows: ({ locked }) => locked.items,
    columns: [
      ['account', ({ email, pool, key }) => (email === null ? kindOf(key) : shownUser(`${email}@@${pool ?? 'default'}`))],
      ['what', ({ key }) => kindOf(key)],
      'failures',
      'locked_until',
    ],
    none: 'nothing is locked',
    leadsTo: ({ email }) =>
      email === null ? undefined : { title: `Refused logins of ${email}`, query: { event: ['login.failed'], email } },
  }),
  section({
    name: 'Outbox',
    isAlarming: ({ outbox }) => outbox.some((waiting) => ageOf(waiting) > alarmingSeconds),
    summarize: ({ outbox }) => outbox.map(waiting).join('; '),
    rows: ({ outbox }) => outbox,
    columns: [
      'kind',
      ['pending', ({ pending }) => number(pending)],
      ['oldest', (waiting) => lasting(ageOf(waiting))],
      ['oldest due', ({ oldest_due_seconds }) => lasting(oldest_due_seconds)],
    ],
    none: 'nothing is waiting',
  }),
  section({
    name: 'Webhooks',
    isAlarming: ({ failed_webhooks }) => failed_webhooks.length > 0,
    summarize: ({ failed_webhooks }) =>
      failed_webhooks.length === 0
        ? 'none failed'
        : `failed for good: ${failed_webhooks.map(({ app_code, webhook, failed }) => `${webhook} of ${app_code} ${number(failed)}`).join(', ')}`,
    rows: ({ failed_webhooks }) => failed_webhooks,
    columns: [['app', ({ app_code }) => app_code], 'webhook', ['failed', ({ failed }) => number(failed)], 'last_failed_at'],
    none: 'no delivery failed for good',
  }),
  section({
    name: 'Consumers',
    isAlarming: ({ consumers }) => consumers.behind_count > 0,
    summarize({ consumers: { app_count, behind_count, behind } }) {
      if (app_count === 0) return 'none seen yet'
      const apps = counted(app_count, 'app')
      if (behind_count === 0) return `${apps}, all with the current secret`
      return `${number(behind_count)} of ${apps} without the current secret: ${behind.map(({ app_code }) => app_code).join(', ')}`
    },
    rows: ({ consumers }) => consumers.behind,
    columns: [
      ['app', ({ app_code }) => app_code],
      ['last without', ({ behind_last_seen_at }) => behind_last_seen_at],
      ['last with', ({ current_last_seen_at }) => current_last_seen_at],
    ],
    none: 'all accept the current secret',
  }),
]

/** Messages are sent within seconds as long as the servers and the receivers work. */
const alarmingSeconds = 60

function listed(names: string[], none: string): string {
  return names.length === 0 ? none : names.join(', ')
}

function nameOf({ email, pool, user_id }: Stats['failing_emails'][number]): string {
  if (email === null) return user_id ?? 'nobody'
  return pool === null ? email : shownUser(`${email}@@${pool}`)
}

/** What the failures are counted by, which is how the key begins. */
function kindOf(key: string): string {
  const [kind = ''] = key.split(':')
  return { address: 'e-mail', device: 'known device', 'two-factor': 'second factor' }[kind] ?? kind
}

function until(moment: string | null, now: number): string {
  return moment === null ? '' : `(${relativeTime(moment, now)})`
}

function waiting(backlog: Stats['outbox'][number]): string {
  const { kind, pending } = backlog
  return pending === 0 ? `no ${kind}` : `${counted(pending, kind)}, the oldest waiting for ${lasting(ageOf(backlog))}`
}

function lasting(seconds: number): string {
  return relativeTime(new Date(0).toISOString(), seconds * 1000).replace(/ ago$|^now$/, '') || '0s'
}
