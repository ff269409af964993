import type { Deps } from '../../deps.ts'
import type { StoredEvent } from '../../lib/audit-proof.ts'
import { type Snapshot, sees } from '../../lib/feed-cursors.ts'
import { AuditEvent, type Place } from '../../models/audit-event.ts'

/** Rows that are in memory at once: a megabyte. */
const portion = 1_000

/** The rows that `from` does not see and `upto` does, in order, in portions. With `after`, only those after a row. */
export async function* rowsBetween(
  { db }: Deps,
  from: Snapshot,
  upto: Snapshot,
  after?: Place,
): AsyncGenerator<StoredEvent[], void, undefined> {
  const read = (after: Place | undefined) => {
    const rows = AuditEvent.listUnseen(db, from, { after, below: upto.xmax, limit: portion })
    // Nobody waits for it if the reader stops early.
    rows.catch(() => {})
    return rows
  }
  for (let next: Promise<StoredEvent[]> | undefined = read(after); next; ) {
    const rows: StoredEvent[] = await next
    // Postgres reads the next ones while these are compared.
    next = rows.length === portion ? read(rows.at(-1)) : undefined
    yield rows.filter(({ xid }) => sees(upto, xid))
  }
}
