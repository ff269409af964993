import type { Deps } from '../../deps.ts'
import { type Snapshot, sees } from '../../lib/feed-cursors.ts'
import { AuditEvent, type EventContent, type Place, type SealableEvent } from '../../models/audit-event.ts'

/** Rows that are in memory at once: a megabyte. */
const portion = 1_000
/** As many of what the digest of a batch needs. */
const contentsPortion = 4_000

/** The rows that `from` does not see and `upto` does, in order, in portions. With `after`, only those after a row. */
export function rowsBetween({ db }: Deps, from: Snapshot, upto: Snapshot, after?: Place): AsyncGenerator<SealableEvent[], void> {
  return portionsOf(upto, after, portion, (after, limit) => AuditEvent.listUnseen(db, from, { after, below: upto.xmax, limit }))
}

/** The same rows, only with what the digest of a batch and its seal need. */
export function contentsBetween({ db }: Deps, from: Snapshot, upto: Snapshot): AsyncGenerator<EventContent[], void> {
  return portionsOf(upto, undefined, contentsPortion, (after, limit) =>
    AuditEvent.listContents(db, from, { after, below: upto.xmax, limit }),
  )
}

async function* portionsOf<Row extends Place>(
  upto: Snapshot,
  after: Place | undefined,
  limit: number,
  list: (after: Place | undefined, limit: number) => Promise<Row[]>,
): AsyncGenerator<Row[], void, undefined> {
  const read = (after: Place | undefined) => {
    const rows = list(after, limit)
    // Nobody waits for it if the reader stops early.
    rows.catch(() => {})
    return rows
  }
  for (let next: Promise<Row[]> | undefined = read(after); next; ) {
    const rows: Row[] = await next
    // Postgres reads the next ones while these are compared.
    next = rows.length === limit ? read(rows.at(-1)) : undefined
    yield rows.filter(({ xid }) => sees(upto, xid))
  }
}
