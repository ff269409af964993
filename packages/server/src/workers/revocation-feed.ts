import { setTimeout as sleep } from 'node:timers/promises'
import type { HubEvent } from '../adapters/revocation-hub.ts'
import { eraOf, isPostgres, type Pool } from '../db/handle.ts'
import { hasOlderListener, listenFor, notify } from '../db/listen.ts'
import { transaction } from '../db/transaction.ts'
import type { Deps } from '../deps.ts'
import { type Snapshot, sees, upTo } from '../lib/feed-cursors.ts'
import { App } from '../models/app.ts'
import { DeletedApp } from '../models/deleted-app.ts'
import { Feed, type FeedRow, listOfPosition, listUnseen } from '../models/feed.ts'
import { Generation } from '../models/generation.ts'
import { Revocation, type RevocationRow, revocationFeed } from '../models/revocation.ts'
import { readCatalog } from '../resources/catalog/catalog.ts'
import { fewAlike, noteConsumerSecrets, readStanding } from '../resources/consumers/consumers.ts'
import { adoptFeeds, continueFeeds, withCursors } from '../resources/feeds/feeds.ts'
import { frameRevocation, resetFrame, revocationKeepMs } from '../resources/revocations/revocations.ts'
import { type Wakeable, wakeable } from './wakeable.ts'

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
  const reader = wakeable(
    async () => {
      await publishNew()
      await endOutdated()
      numbering?.wake()
      await sleep(gatherMs)
    },
    (error) => logger.warn({ err: error }, 'revocations cannot be read; retrying every second'),
  )
  const { wake } = reader
  const announcer = wakeable(
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

/**
 * Ends the streams whose app has other keys than when the consumer was authenticated, so that the consumer has to show a key that
 * counts now, and those whose code is another app's now, or nobody's.
 */
async function endOutdatedStreams(deps: Deps, generation: string): Promise<void> {
  const catalog = await readCatalog(deps, generation)
  for (const { appId, appCode, standing } of deps.revocationHub.owners())
    if ((await readStanding(catalog, appCode)) !== standing) deps.revocationHub.endApp(appId, standing)
}

/** Records consumers with open streams as seen. Ends streams of a deleted app once its events expire or its code is reused. */
export async function tendStreams(deps: Deps): Promise<void> {
  const owners = deps.revocationHub.owners()
  const appIds = [...new Set(owners.map(({ appId }) => appId))]
  const existing = new Set((await App.listCodes(deps.db, appIds)).map(({ id }) => id))
  const gone = appIds.filter((id) => !existing.has(id))
  const deleted = new Set(await DeletedApp.listIds(deps.db, gone, deps.clock() - revocationKeepMs))
  for (const id of gone) if (!deleted.has(id)) deps.revocationHub.endApp(id)
  const keyrings = await (await readCatalog(deps)).getKeyrings()
  for (const appId of existing) {
    const keyring = keyrings.ofApp(() => appId)
    const ofApp = owners.filter((owner) => owner.appId === appId)
    for (const { kids } of fewAlike(ofApp, keyring, ({ kids }) => kids)) await noteConsumerSecrets(deps, { appId, kids, keyring })
  }
}

/** How long an answer about older servers counts. None can start any more, but one may come back from a broken network. */
const lookEveryMs = 5_000

/**
 * Numbers revocations while servers of the previous version may be there. They are seen by their connections for notifications.
 * Where this server has none, as behind PgBouncer, they may have none either. Goes with the next version.
 *
 * Such a server keeps the highest number that it has read, and reads what is above it. So it can miss a row only if a higher number
 * was visible before the row's own. Rows of this version are written with negative numbers, and those of older servers with a
 * number from before their commit. A row counts as settled once one statement saw no higher number of another transaction: then
 * none was visible when the row's became so, because numbers of one transaction appear together, no number falls, and rows are
 * kept for an hour. All rows that are not settled get new numbers, again and again. An old server may hear of one twice, which does
 * no harm: minimums only rise.
 *
 * What is settled stands in the row, and a row is settled only for the number that the statement saw. So several servers can do this
 * at once, in single statements, and what one that died has left is done by the others. The one with the highest number always
 * succeeds. A long transaction's rows are not settled when they appear.
 */
function numberForOlderServers(deps: Deps<Pool>, isHearing: () => boolean): Wakeable {
  let lookedAt = Number.NEGATIVE_INFINITY
  let areThere = true
  const numbering = wakeable(
    async () => {
      if (isHearing() && performance.now() - lookedAt > lookEveryMs) {
        areThere = await hasOlderListener(deps.db)
        lookedAt = performance.now()
      }
      if (isHearing() && !areThere) return
      if (await numberUnsettled(deps.db)) numbering.wake()
    },
    (error) => deps.logger.warn({ err: error }, 'revocations cannot be numbered for servers of the previous version'),
  )
  return numbering
}

/** Goes one step, and returns whether there was anything to do. Rows numbered in one step are settled in the next. */
export async function numberUnsettled(db: Pool): Promise<boolean> {
  if (!(await Revocation.hasUnsettled(db))) return false
  await Revocation.settleTopmost(db)
  await Revocation.numberOthers(db)
  await notify(db, 'gatehouse_revocations', 'numbered')
  return true
}
