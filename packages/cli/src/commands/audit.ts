import { createWriteStream, existsSync, renameSync, rmSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { type Api, bodyOf, type Pages, pages, readAll } from '../api/api-client.ts'
import { parsePast } from '../command-line/duration.ts'
import { Failure, messageOf, usageFailure } from '../command-line/exit-codes.ts'
import { count, positional, requiredText, text } from '../command-line/options.ts'
import { compareArchive } from '../nouns/audit-archive.ts'
import {
  type AuditEvent,
  type AuditQuery,
  auditColumns,
  auditFilters,
  auditQuery,
  shownActor,
  untilOption,
} from '../nouns/audit-events.ts'
import { faultOfFormer, sayFormer, sentenceOf } from '../nouns/audit-faults.ts'
import { refusalByLaterChange } from '../nouns/later-change.ts'
import { mailOf, sayMail } from '../nouns/mail-states.ts'
import { parsePlainName } from '../nouns/plain-name.ts'
import { type Undo, undoOf, wordsToTakeRole } from '../nouns/undo-event.ts'
import { userSubject } from '../nouns/user-commands.ts'
import { getUserDetail } from '../nouns/user-records.ts'
import { userRefOf } from '../nouns/user-ref.ts'
import { list, rowsOf, stream } from '../output/render.ts'
import { toCommandLine } from '../text/shell-words.ts'
import { isUuid } from '../text/uuid.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'

export const listAudit = command({
  path: 'audit list',
  options: { ...auditFilters, until: untilOption, limit: count('N', 'Maximum number of events. Default: all') },
  summary: 'List what happened, newest first',
  description:
    'Events are kept for ever, unless the service has AUTH_AUDIT_RETENTION_DAYS. JSON has more than the table: the request, the user agent, and what was changed, before and after. ' +
    '--ip, --app, --request-id and --event alone look through the whole audit, 10,000 events a request: add --since, --user or --actor.',
  examples: [
    "audit list --event login.failed 'two_factor.*' --user bob@example.com --limit 20",
    'audit list --request-id 6f1f5a52-8f0b-4f0e-9a53-1d0a4c1f7c11 --since 1h',
    'audit list --actor ada@example.com --since 7d --until 1d -o ndjson',
  ],
  lists: 'long',
  async run({ api, now }, { limit, ...filters }) {
    const query = await auditQuery(api, filters, now())
    const all = pages((page) => bodyOf(api.GET('/api/v1/admin/audit', { params: { query: { ...query, ...page } } })), limit)
    return list(all, auditColumns, 'no events')
  },
})

const options = auditFilters

const pollMs = 2_000
/** How many past events it shows without --since. */
const eventsBefore = 10
/** How many past events it reads, so that it recognizes them when they come again. */
const eventsKnown = 200
/** An event gets its date before its transaction ends, so it can show up after a newer event. */
const overlapMs = 30_000

export const tailAudit = command({
  path: 'audit tail',
  summary: 'Show events as they happen, until Ctrl-C',
  description: `Starts with the last ${eventsBefore} events, or with those since --since, oldest first. Asks for more every ${pollMs / 1000} seconds.`,
  examples: ['audit tail', 'audit tail --event login.failed', 'audit tail --app shop --since 1h -o ndjson'],
  options,
  formats: { all: ['table', 'ndjson'], terminal: 'table', pipe: 'ndjson' },
  async run({ api, now, sleep }, filters) {
    return stream(follow(api, await auditQuery(api, filters, now()), sleep), auditColumns)
  },
})

async function* follow(api: Api, query: AuditQuery, sleep: Tools['sleep']): Pages<AuditEvent> {
  // The service dates events by its own clock, which may differ from ours.
  const begin = query.since === undefined ? await readNewest(api, query) : await read(api, query)
  const floor = query.since ?? begin[0]?.at
  let shown = new Map<string, number>()
  let fresh = begin
  let newest = 0
  for (let isFirst = true; ; isFirst = false) {
    for (const { id, at } of fresh) {
      shown.set(id, Date.parse(at))
      newest = Math.max(newest, Date.parse(at))
    }
    if (isFirst && query.since === undefined) fresh = fresh.slice(-eventsBefore)
    if (fresh.length > 0) yield fresh
    const overlap = Math.max(Date.parse(floor ?? '') || 0, newest - overlapMs)
    // Forgets events that cannot be returned again, so that memory stays bounded for months.
    shown = new Map([...shown].filter(([, at]) => at >= overlap))
    await sleep(pollMs)
    const events = await read(api, newest === 0 ? query : { ...query, since: new Date(overlap).toISOString() })
    fresh = events.filter(({ id }) => !shown.has(id))
  }
}

/** Reads one page, oldest first. The rest of what is rare may be months away. */
async function readNewest(api: Api, query: AuditQuery): Promise<AuditEvent[]> {
  const params = { query: { ...query, limit: eventsKnown } }
  return (await bodyOf(api.GET('/api/v1/admin/audit', { params }))).items.reverse()
}

/** Reads all events, oldest first. */
async function read(api: Api, query: AuditQuery): Promise<AuditEvent[]> {
  const all = pages((page) => bodyOf(api.GET('/api/v1/admin/audit', { params: { query: { ...query, ...page } } })))
  return (await readAll(all)).reverse()
}

export const showAudit = command({
  path: 'audit show',
  options: { id: positional('ID', 'Id of the event, as audit list shows it') },
  summary: 'Show an event in full, the command that undoes the change, and what became of a mail',
  description:
    'Shows users, apps and service accounts by name if they still exist. Not every change can be undone. If something changed the ' +
    'same thing later, the newest such event is named and no command is printed.',
  examples: [
    'audit show 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'audit show 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --json',
    'audit show 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --context production',
  ],
  async run({ api, now }, { id }) {
    if (!isUuid(id)) {
      throw new Failure('invalid', `"${id}" is not the id of an event`, {
        code: 'invalid_event',
        hint: 'audit list --json shows the ids',
      })
    }
    const event = await bodyOf(api.GET('/api/v1/admin/audit/{id}', { params: { path: { id } } }))
    const mail = await mailOf(api, event)
    const undoing = await stillSafe(api, event, undoOf(event, now()))
    const undo = undoing && 'words' in undoing ? `authctl ${toCommandLine(undoing.words)}` : null
    const refusal = undoing && 'refusal' in undoing ? undoing.refusal : null
    const { details, actor: _, names, user_id, app_id, ...told } = event
    const record = {
      ...{ ...told, actor: shownActor(event), user: names.user, app: names.app, user_id, app_id, ...(details ?? {}) },
      ...(mail !== undefined && {
        mail: typeof mail === 'string' ? mail : sayMail(mail),
        mail_id: textOf(details?.mail) ?? null,
      }),
    }
    const again = typeof mail === 'object' && mail.status === 'failed' ? `authctl mail resend ${mail.id}` : null
    return {
      kind: 'report',
      value: { ...event, undo, undo_refused: refusal, ...(mail !== undefined && { mail }) },
      parts: [
        { record },
        ...(undo ? ['', 'To undo it:', `  ${undo}`] : []),
        ...(refusal ? ['', refusal] : []),
        ...(again ? ['', 'To send the mail again:', `  ${again}`] : []),
      ],
    }
  },
})

/** An undo of something that changed later could reverse the later change. */
async function stillSafe(api: Tools['api'], event: AuditEvent, undo: Undo | undefined): Promise<Undo | undefined> {
  if (!undo || 'refusal' in undo) return undo
  const refusal = await refusalByLaterChange(api, event)
  return refusal === undefined ? undo : { refusal }
}

export const whoGave = command({
  path: 'audit who',
  options: { user: userSubject, role: positional('ROLE', 'A global role, or one within organizations') },
  summary: 'Show who gave a user a role, and who removed it',
  description:
    'Newest first, as far back as the audit goes. Also shows whether the user holds the role now, and how to remove it. To find the ' +
    'holders of a role, use user find --role ROLE.',
  examples: [
    'audit who bob@example.com system_admin',
    'audit who bob@example.com org_admin',
    'audit who bob@example.com support --json',
  ],
  async run({ api }, input) {
    const role = parsePlainName(input.role, 'role')
    const user = await getUserDetail(api, input.user)
    const organizations = new Map(user.organizations.map(({ id, slug }) => [id, slug]))
    const changes: Change[] = []
    for (const event of await changesOf(api, user.id)) {
      const change = changeOf(event, role)
      if (!change) continue
      const id = textOf(event.details?.organization_id)
      changes.push({
        at: event.at,
        change,
        by: event.actor.type === 'system' ? 'the service itself, or its command line' : shownActor(event),
        organization: id === undefined ? null : (organizations.get(id) ?? id),
        ip: event.ip,
        why: event.audit_reason,
        event_id: event.id,
      })
    }
    const within = user.organizations.filter(({ role_codes }) => role_codes.includes(role)).map(({ slug }) => slug)
    const holds = user.roles.includes(role)
    const remedy = holds ? `authctl ${toCommandLine(wordsToTakeRole(user.id, role))}` : null
    const head = { user: userRefOf(user), user_id: user.id, role, holds, organizations: within }
    const table = rowsOf(changes, ['at', 'change', 'by', 'organization', 'ip', 'why'])
    return {
      kind: 'report',
      value: { ...head, changes, remedy },
      parts: [
        { record: head },
        '',
        ...(changes.length > 0 ? [table] : ['The audit does not say who gave it.']),
        ...(remedy ? ['', 'To remove it:', `  ${remedy}`] : []),
      ],
    }
  },
})

const changesOfRoles = [
  'role.assigned',
  'role.unassigned',
  'membership.created',
  'membership.updated',
  'membership.deleted',
] as const

interface Change {
  at: string
  change: 'given' | 'taken'
  by: string
  organization: string | null
  ip: string | null
  why: string | null
  event_id: string
}

/** Newest first. */
async function changesOf(api: Api, userId: string): Promise<AuditEvent[]> {
  const query = { user_id: userId, event: [...changesOfRoles] }
  return readAll(pages((page) => bodyOf(api.GET('/api/v1/admin/audit', { params: { query: { ...query, ...page } } }))))
}

/** What the event did to the role. Undefined if it did not change it. */
function changeOf({ event, details }: AuditEvent, role: string): Change['change'] | undefined {
  if (event === 'role.assigned' || event === 'role.unassigned') {
    if (details?.role_code !== role) return undefined
    return event === 'role.assigned' ? 'given' : 'taken'
  }
  const [before, after] = [hasRole(details?.before, role), hasRole(details?.after, role)]
  if (before === after) return undefined
  return after ? 'given' : 'taken'
}

function hasRole(state: unknown, role: string): boolean {
  const codes = typeof state === 'object' && state !== null && 'role_codes' in state ? state.role_codes : undefined
  return Array.isArray(codes) && codes.includes(role)
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export const verifyAudit = command({
  path: 'audit verify',
  options: {
    head: text(
      'POSITION:SEAL',
      'End of the chain, from the log of the service ("audit sealed"). Also detects events cut off the end',
    ),
    sinceBatch: text('BATCH', 'Begin after this batch, the BATCH of an earlier run. Needs the --head of that run or a later one'),
    file: text('FILE', 'Check this archive instead, without the service. Needs --key', { short: 'f' }),
    key: text('KEY', 'The KEY that "audit archive" printed when it wrote FILE'),
  },
  summary: 'Check whether events were changed, removed or inserted by anything but the service',
  description:
    'Compares every event with its proof and its batch. Exits with 8 and names the first event that is not what the service wrote. ' +
    'The counts are those of the compared events; the head is the end of the last batch. Note both: the next run can go on from there.',
  examples: [
    'audit verify',
    'audit verify --since-batch 8112 --head 48211:1f0c9b7e.Yw3cWb0yC5n2Jm8QpT4sVd6LxKz1RaEu7HoGiNfMtBk',
    'audit verify -f audit-2026.ndjson.gz --key 3p7bfXt9wbTTW2HC7OQ1Nz-DQ8hbeGdNrfx-FG-IK08',
  ],
  async run(tools, { head, sinceBatch, file, key }) {
    if ((file === undefined) !== (key === undefined))
      throw usageFailure('-f and --key belong together', 'a key that is only in the archive proves nothing')
    if (file !== undefined && key !== undefined) {
      if (head !== undefined || sinceBatch !== undefined) throw usageFailure('an archive has no --head and no --since-batch')
      const { fault, ...compared } = await compareArchive(file, key)
      const { service, events, before, after, to } = compared
      const shown = {
        ...{ service, events, before, afterBatch: after?.batch ?? null, batch: to?.batch ?? null },
        ...{ head: to && `${to.position}:${to.seal}`, whole: fault === undefined },
      }
      return {
        kind: 'report',
        value: { ...shown, fault: fault ?? null },
        parts: [{ record: shown }, ...(fault === undefined ? [] : ['', fault])],
        failure: fault === undefined ? undefined : new Failure('failures', fault, { code: 'archive_not_whole' }),
      }
    }
    const { api } = tools
    if (sinceBatch !== undefined && !/^\d{1,15}$/.test(sinceBatch))
      throw usageFailure('--since-batch must be the number of a batch')
    if (sinceBatch !== undefined && head === undefined)
      throw usageFailure('--since-batch needs --head', 'without it, the events before could have been replaced')
    const counts = { checked: 0, adopted: 0, unsealed: 0 }
    let cursor = sinceBatch === undefined ? undefined : `batch.${sinceBatch}`
    let rest: string | undefined
    const forget = tools.onInterrupt(() => interrupted(counts.checked, rest))
    try {
      for (;;) {
        const query = { ...(cursor !== undefined && { cursor }), ...(head !== undefined && { head }) }
        const page = await bodyOf(api.GET('/api/v1/admin/audit/verify', { params: { query } }))
        counts.checked += page.checked
        counts.adopted += page.adopted
        counts.unsealed += page.unsealed
        cursor = page.next_cursor ?? undefined
        rest = restAfter(cursor, page.head) ?? rest
        if (cursor !== undefined) continue
        const { fault } = page
        const shown = {
          ...counts,
          batch: page.head?.batch ?? null,
          head: page.head === null ? null : `${page.head.position}:${page.head.seal}`,
          ...(page.former && { former: sayFormer(page.former) }),
          whole: fault === null,
        }
        const before = page.former ? faultOfFormer(page.former) : undefined
        const said = fault === null ? undefined : sentenceOf(fault)
        return {
          kind: 'report',
          value: { ...shown, head: page.head, former: page.former, fault },
          parts: [{ record: shown }, ...[said, before].flatMap((text) => (text === undefined ? [] : ['', text]))],
          failure:
            said === undefined
              ? undefined
              : new Failure('failures', said, {
                  code: 'audit_not_whole',
                  hint: 'docs/operate/sealed-audit.md, "When verify names an event"',
                }),
        }
      }
    } finally {
      forget()
    }
  },
})

/** The options that go on after the batch which was compared last. */
function restAfter(cursor: string | undefined, head: { position: number; seal: string } | null): string | undefined {
  const [, batch] = /^batches\.([1-9]\d*)$/.exec(cursor ?? '') ?? []
  return batch === undefined || head === null ? undefined : `--since-batch ${batch} --head ${head.position}:${head.seal}`
}

function interrupted(checked: number, rest: string | undefined): Failure {
  return new Failure('interrupted', `interrupted: the ${checked} events compared so far are what the service wrote`, {
    code: 'interrupted',
    hint: rest === undefined ? 'no batch was compared yet: run the same command again' : `go on: authctl audit verify ${rest}`,
  })
}

export const archiveAudit = command({
  path: 'audit archive',
  options: {
    before: requiredText('TIME', 'Up to the events that were sealed before then: 90d, 2026-12-31 or 2026-12-31T18:00:00Z'),
    out: requiredText('FILE', 'New file for the archive, gzip with one JSON text a line'),
  },
  summary: 'Write old events into a file that can be verified without the service',
  description:
    'Compares each event with its proof and stops at the first that is not what the service wrote. Note the KEY that it prints in ' +
    'another place than FILE: "audit verify -f FILE --key KEY" checks the file. Nothing is deleted. The file has e-mail addresses, which ' +
    'erasing a user does not reach. Events from before batches are not in it.',
  examples: [
    'audit archive --before 90d --out audit.ndjson.gz',
    'audit archive --before 2026-12-31 --out audit-2026.ndjson.gz',
    'audit archive --before 90d --out audit.ndjson.gz --json',
  ],
  async run({ api, now }, { before: typed, out }) {
    const before = parsePast('--before', typed, now()) ?? typed
    if (existsSync(out)) throw new Failure('invalid', `${out} is there already`, { code: 'file_unwritable' })
    const staged = `${out}.${process.pid}.tmp`
    let events = 0
    let key = ''
    let fault: string | undefined
    async function* lines() {
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const query = { before, ...(cursor !== undefined && { cursor }) }
        const part = await bodyOf(api.GET('/api/v1/admin/audit/archive', { params: { query } }))
        if (part.fault) fault = sentenceOf(part.fault)
        key = part.key
        events += part.events
        cursor = part.next_cursor
        yield part.lines.map((line) => `${line}\n`).join('')
      }
    }
    try {
      await pipeline(Readable.from(lines()), createGzip(), createWriteStream(staged, { flags: 'wx', mode: 0o600 }))
      if (fault === undefined) renameSync(staged, out)
    } catch (error) {
      if (codeOf(error) === undefined) throw error
      throw new Failure('invalid', `cannot write ${out}: ${messageOf(error)}`, { code: 'file_unwritable' })
    } finally {
      rmSync(staged, { force: true })
    }
    if (fault !== undefined) throw new Failure('failures', `${fault}; no file was written`, { code: 'audit_not_whole' })
    const shown = { file: out, events, key }
    return { kind: 'report', value: shown, parts: [{ record: shown }] }
  },
})

/** The code of an error of the system, such as ENOSPC. */
function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'syscall' in error && 'code' in error ? String(error.code) : undefined
}
