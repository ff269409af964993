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
  let rows: StoredEvent[] = []
  do {
    rows = await AuditEvent.listUnseen(db, from, { after: rows.at(-1) ?? after, below: upto.xmax, limit: portion })
    yield rows.filter(({ xid }) => sees(upto, xid))
  } while (rows.length === portion)
}
