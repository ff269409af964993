import { type Api, bodyOf, type Pages, pages, readAll } from '../../api/api-client.ts'
import { type AuditEvent, type AuditQuery, auditColumns, auditFilters, auditQuery } from '../../nouns/audit-events.ts'
import { stream } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

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
