import { setTimeout as sleep } from 'node:timers/promises'
import type { HubEvent } from '../adapters/revocation-hub.ts'
import { eraOf, isPostgres, type Pool } from '../db/handle.ts'
import { listenFor, notify } from '../db/notify.ts'
import { transaction } from '../db/transaction.ts'
import type { Deps } from '../deps.ts'
import { type Snapshot, sees, upTo } from '../lib/feed-cursors.ts'
import { Feed, type FeedRow, listOfPosition, listUnseen } from '../models/feed.ts'
import { Generation } from '../models/generation.ts'
import { type RevocationRow, revocationFeed } from '../models/revocation.ts'
import { adoptFeeds, continueFeeds, withCursors } from '../resources/feeds/feeds.ts'
import { frameRevocation, resetFrame } from '../resources/revocations/revocations.ts'
import { endOutdatedStreams, tendStreams } from './end-outdated-streams.ts'
import { numberForOlderServers } from './number-for-older-servers.ts'
import { onDemand } from './on-demand.ts'

const channel = 'gatehouse_revocations'
const batchSize = 2_000
/** How often to read whatever is heard: a server may die between a commit and its notification. */
const pollMs = 1_000
const tendMs = 30_000
/** The first commit is read and announced at once. Those of this time after it are read and announced together. */
const gatherMs = 10
/** How long one transaction may hold back the cursors of the feeds before the log warns of it. */
const heldWarnSeconds = 300

/**
 * Reads new revocations from the table, once for all streams of this process, and hands them to the hub. It reads when a
 * transaction of this process has committed, when another server notifies it, and every second. After a failover of the database
 * it tells the streams to start over. `patient` does what no request may wait for.
 */
export async function startRevocationFeed(deps: Deps<Pool>, patient: Deps<Pool> = deps): Promise<{ stop(): Promise<void> }> {
  const { revocationHub: hub, logger } = deps
  if (!(await adoptFeeds(deps.db))) await transaction(patient, (patient) => continueFeeds(patient, 0))
  /** The era of the rows read so far. */
  let era = eraOf(deps.db)
  let state = await Feed.getState(deps.db, revocationFeed)
  /** What was published so far. */
  let seen = state.snapshot
  const goOnAfterFailover = async () => {
    const next = eraOf(deps.db)
    const known = state.cursors.cursorOf(state.cursors.placeOfPosition(seen.xmax))
    await transaction(patient, (patient) => continueFeeds(patient, known))
    state = await Feed.getState(deps.db, revocationFeed)
    seen = state.snapshot
    era = next
    await hub.startOver(resetFrame)
    logger.warn({ cursor: state.cursors.first }, 'the database has failed over; consumers start over with its revocations')
  }
  const watchHorizon = horizonWatch(deps)
  const publishNew = async () => {
    state = await Feed.getState(deps.db, revocationFeed)
    const { cursors, snapshot } = state
    watchHorizon(snapshot)
    const read = await listUnseen<RevocationRow>(deps.db, revocationFeed, seen, batchSize)
    if (era !== eraOf(deps.db)) {
      await goOnAfterFailover()
      return reader.wake()
    }
    const isCut = read.length === batchSize
    const last = read.at(-1)
    // The rows of one transaction come together, even if they are more than a portion.
    const isOneTransaction = isCut && read[0]?.position === last?.position
    const upper = isCut && last ? Math.min(last.position + (isOneTransaction ? 1 : 0), snapshot.xmax) : undefined
    const passed = upper === undefined ? snapshot : upTo(seen, snapshot, upper)
    const rows = isOneTransaction && last ? await listOfPosition<RevocationRow>(deps.db, revocationFeed, last.position) : read
    // Those that were committed since the snapshot come with the next one.
    const fresh = rows.filter(({ position }) => sees(snapshot, position) && (upper === undefined || position < upper))
    if (isCut) reader.wake()
    const end = Math.max(cursors.placeOfPosition(passed.xmin), cursors.placeOfPosition(cursors.origin.position))
    const events = withCursors(fresh, cursors, end)
      .filter(({ app_id, session_id }) => app_id !== null || session_id === null)
      .flatMap(eventsOf)
    seen = passed
    await hub.publish(events, seen)
    const now = deps.clock()
    for (const { at } of fresh) deps.metrics.revocationLagSeconds.observe(Math.max(0, now - at) / 1_000)
  }
  const numbering = isPostgres(deps.db) ? numberForOlderServers(patient, () => listener?.isHearing === true) : undefined
  let checkedGeneration: string | undefined
  const endOutdated = async () => {
    if (hub.streamCount === 0) return
    const generation = await Generation.ofCatalog(deps.db)
    if (generation === checkedGeneration && !hub.hasNew) return
    hub.hasNew = false
    await endOutdatedStreams(deps, generation)
    checkedGeneration = generation
  }
  const reader = onDemand(
    async () => {
      await publishNew()
      await endOutdated()
      numbering?.wake()
      await sleep(gatherMs)
    },
    (error) => logger.warn({ err: error }, 'revocations cannot be read; retrying every second'),
  )
  const { wake } = reader
  const announcer = onDemand(
    async () => {
      await notify(deps.db, channel, `new:${hub.id}`)
      await sleep(gatherMs)
    },
    (error) => logger.warn({ err: error }, 'other servers cannot be notified; they read every second'),
  )
  hub.onWake = wake
  hub.onAnnounce = () => {
    wake()
    announcer.wake()
  }

  const listener = listenFor(deps.db, channel, {
    onMessage(payload) {
      if (payload !== `new:${hub.id}`) wake()
    },
    onHearing() {
      logger.info('receiving revocations of other servers')
      wake()
    },
    onSilence(reason) {
      logger.warn({ err: reason }, 'LISTEN delivers nothing; reading revocations of other servers every second')
    },
  })
  const poll = setInterval(wake, pollMs)
  const tend = setInterval(() => {
    tendStreams(deps).catch((error: unknown) => logger.warn({ err: error }, 'the streams of consumers could not be maintained'))
  }, tendMs)
  return {
    async stop() {
      hub.onWake = () => {}
      hub.onAnnounce = () => {}
      clearInterval(poll)
      clearInterval(tend)
      await listener?.stop()
      await reader.stop()
      await announcer.stop()
      await numbering?.stop()
    },
  }
}

/** The events for a row. A row about all users of all apps is the first after a restored backup: streams start over with it. */
function eventsOf(row: FeedRow<RevocationRow>): HubEvent[] {
  const { position, user_id: userId, app_id: appId } = row
  const event: HubEvent = { position, appId, form: userId === null ? 2 : 1, frame: frameRevocation(row) }
  return userId === null && appId === null ? [{ position, appId, form: 1, frame: resetFrame }, event] : [event]
}

/**
 * Measures for how long the horizon has stood still below newer transactions, and warns of it once. The oldest transaction is still
 * open then, and each poll repeats the events since it began. On SQLite the horizon is always the last row.
 */
function horizonWatch(deps: Deps): (snapshot: Snapshot) => void {
  const { metrics, logger } = deps
  let held = { xmin: 0, since: 0, isTold: false }
  return ({ xmin, xmax }) => {
    const now = deps.clock()
    if (xmin !== held.xmin || xmin === xmax) held = { xmin, since: now, isTold: false }
    const seconds = Math.max(0, now - held.since) / 1_000
    metrics.horizonHeldSeconds.set(seconds)
    if (seconds < heldWarnSeconds || held.isTold) return
    held.isTold = true
    logger.warn(
      // The views of Postgres have the lower half of the id.
      { xid: xmin % 2 ** 32, seconds },
      'a transaction has been open for 5 minutes, and each poll of a feed repeats the events since it began; look for it with "select ' +
        'pid, xact_start, query from pg_stat_activity where backend_xid is not null order by xact_start", and in pg_prepared_xacts',
    )
  }
}
