/**
 * Where the cursors of a feed begin: `cursor` stands for `position`, and was set at `at`. A position is the id of the transaction
 * that wrote a row; on SQLite, the number of the row.
 */
export interface Origin {
  cursor: number
  position: number
  at: number
}

/** Which transactions a statement sees: those below `xmax` that are not running. Everything below `xmin` has ended. */
export interface Snapshot {
  xmin: number
  xmax: number
  running: readonly number[]
}

/** A row of a feed. */
export interface Placed {
  position: number
  at: number
}

/** The rows from a place on, or in a place, are read in this many parts if they are too many for a page. */
export const partsOfPlace = 16
/**
 * Cursors per place. The first stands for the place itself. The next ones are for readers amid the parts of rows at and above the
 * horizon, the last ones for readers amid those of a place that is final: nothing can appear in parts that these have read.
 */
const cursorsOfPlace = 2 * partsOfPlace
/**
 * Places of the rows from before the origin. These are ordered by their time, since their transactions may be of another database.
 */
const placesBefore = 2 ** 22
/** How many of these places are for rows whose time is after that of the origin, because clocks differ. */
const placesAhead = Math.floor(placesBefore / 10)
/**
 * No feed gives more cursors per millisecond, over the time since its origin: that would take 15,000 transactions a second. So a
 * database that was restored from a backup stays above the cursors that it gave after the backup and does not know. Cursors stay
 * below Number.MAX_SAFE_INTEGER until the year 2280 if this speed were held all the time with a failover each day, and until 2540
 * for a new database. From 2033 on they have 16 digits.
 */
const cursorsPerMs = 500

/** Text of the form `xmin:xmax:running,running`, as Postgres writes it. */
export function parseSnapshot(text: string): Snapshot {
  const [xmin = '', xmax = '', running = ''] = text.split(':')
  return { xmin: Number(xmin), xmax: Number(xmax), running: running === '' ? [] : running.split(',').map(Number) }
}

/** The opposite of `parseSnapshot`. */
export function snapshotText({ xmin, xmax, running }: Snapshot): string {
  return `${xmin}:${xmax}:${running.join()}`
}

/** Sees no transaction. */
export const firstSnapshot = '1:1:'

export function sees({ xmax, running }: Snapshot, position: number): boolean {
  return position < xmax && !running.includes(position)
}

/** The snapshot as it was before `position` and all later ones: a reader has passed only what is below. */
export function upTo(seen: Snapshot, now: Snapshot, position: number): Snapshot {
  const isAmidFormer = position < seen.xmax
  const xmax = isAmidFormer ? seen.xmax : position
  const running = isAmidFormer
    ? seen.running.filter((each) => each >= position || now.running.includes(each))
    : now.running.filter((each) => each < position)
  return { xmin: Math.min(xmax, ...running), xmax, running }
}

interface Portion {
  /** Everything seen so far, with this portion. */
  passed: Snapshot
  /** The rows from this position on are not of this portion. */
  below: number
  /** Set if the portion is one transaction. All its rows are of it, though not all may have been read. */
  wholeOf?: number
  hasMore: boolean
}

/**
 * What comes after `seen`, from at most `limit` rows that `seen` does not see, in the order of their positions. They were read
 * after the snapshot `now`, and those that it does not see come with a later portion. The rows of one transaction come together. So
 * a portion that is full leaves out the last transaction, whose rows may be cut off, unless it is the only one.
 */
export function portionOf(read: readonly Placed[], limit: number, { seen, now }: { seen: Snapshot; now: Snapshot }): Portion {
  const [first, last] = [read[0], read.at(-1)]
  if (read.length < limit || !first || !last) return { passed: now, below: Number.POSITIVE_INFINITY, hasMore: false }
  const { position } = last
  const isOneTransaction = first.position === position
  const below = Math.min(isOneTransaction ? position + 1 : position, now.xmax)
  return { passed: upTo(seen, now, below), below, ...(isOneTransaction && { wholeOf: position }), hasMore: true }
}

/** An origin whose cursors are all above those of `origin`, which go up to `horizon`, and above `known`. */
export function laterOrigin(
  origin: Origin,
  { horizon, known, position, at }: Placed & { horizon: number; known: number },
): Origin {
  const given = Math.max(origin.cursor + cursorsOfPlace * (Math.max(horizon, origin.position) - origin.position), known)
  const lost = cursorsPerMs * Math.max(0, at - origin.at)
  return { cursor: given + lost + cursorsOfPlace * (placesBefore + 1), position, at }
}

/**
 * Places are positions in one line: first those of rows from before the origin, then those of later transactions. `unitMs`: how
 * finely the former are told apart.
 */
export class FeedCursors {
  readonly origin: Origin
  readonly #unitMs: number
  readonly #startAt: number

  constructor(origin: Origin, unitMs: number) {
    this.origin = origin
    this.#unitMs = unitMs
    this.#startAt = origin.at - (placesBefore - placesAhead) * unitMs
  }

  /** Lower cursors are of another database. */
  get first(): number {
    return this.cursorOf(0)
  }

  /** `part` is the next one to read; `isFinal` says whether it is of a place that is final. */
  cursorOf(place: number, part = 0, isFinal = false): number {
    return this.origin.cursor + (place - placesBefore) * cursorsOfPlace + part + (isFinal ? partsOfPlace : 0)
  }

  /** `part` is 0 at the beginning of a place. */
  placeOfCursor(cursor: number): { place: number; part: number; isFinal: boolean } {
    const past = cursor - this.first
    const part = past % cursorsOfPlace
    return { place: Math.floor(past / cursorsOfPlace), part: part % partsOfPlace, isFinal: part >= partsOfPlace }
  }

  placeOf({ position, at }: Placed): number {
    if (position >= this.origin.position) return this.placeOfPosition(position)
    return Math.min(Math.max(0, Math.floor((at - this.#startAt) / this.#unitMs)), placesBefore - 1)
  }

  placeOfPosition(position: number): number {
    return placesBefore + position - this.origin.position
  }

  /** The first place in which rows can still appear after a snapshot. */
  horizonOf({ xmin }: Snapshot): number {
    return this.placeOfPosition(Math.max(xmin, this.origin.position))
  }

  /** The position that a place stands for; undefined for a place of rows from before the origin. */
  positionOf(place: number): number | undefined {
    return place < placesBefore ? undefined : this.origin.position + place - placesBefore
  }

  /** The times of rows from before the origin that have this place. */
  timesOf(place: number): { from: number; to: number } {
    const from = this.#startAt + place * this.#unitMs
    return {
      from: place === 0 ? 0 : from,
      to: place === placesBefore - 1 ? Number.MAX_SAFE_INTEGER : from + this.#unitMs,
    }
  }
}
