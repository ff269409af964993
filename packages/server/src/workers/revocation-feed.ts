import { setTimeout as sleep } from 'node:timers/promises'
import type { HubEvent } from '../adapters/revocation-hub.ts'
import { eraOf, isPostgres, type Pool } from '../db/handle.ts'
import { type Listener, listenFor, notify } from '../db/listen.ts'
import { transaction } from '../db/transaction.ts'
import type { Deps } from '../deps.ts'
import { type FeedCursors, portionOf, type Snapshot, sees } from '../lib/feed-cursors.ts'
import { App } from '../models/app.ts'
import { DeletedApp } from '../models/deleted-app.ts'
import { Feed, type FeedRow, listOfPosition, listUnseen } from '../models/feed.ts'
import { Generation } from '../models/generation.ts'
import { type RevocationRow, revocationFeed } from '../models/revocation.ts'
import { readCatalog } from '../resources/catalog/catalog.ts'
import { fewAlike, noteConsumerSecrets, readStanding } from '../resources/consumers/consumers.ts'
import { adoptFeeds, continueFeeds, withCursors } from '../resources/feeds/feeds.ts'
import { frameRevocation, resetFrame, revocationKeepMs } from '../resources/revocations/revocations.ts'
import { numberForOlderServers } from './older-servers.ts'
import { wakeable } from './wakeable.ts'

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
  const revocations = await NewRevocations.begin(deps, patient)
  const endOutdated = outdatedWatch(deps)
  const numbering = isPostgres(deps.db) ? numberForOlderServers(patient, () => listener?.isHearing === true) : undefined
  const reader = wakeable(
    async () => {
      if (await revocations.publish()) reader.wake()
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
  const listener = listenToOthers(deps, wake)
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

/** Wakes the reader when another server has announced something, and when notifications come through again. */
function listenToOthers({ db, revocationHub: hub, logger }: Deps<Pool>, wake: () => void): Listener | undefined {
  return listenFor(db, channel, {
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
}

/** What is new in the table since this process published from it. */
class NewRevocations {
  readonly #deps: Deps<Pool>
  readonly #patient: Deps<Pool>
  readonly #watchHorizon: (snapshot: Snapshot) => void
  /** What was published so far. */
  #seen: Snapshot
  /** The era of the rows read so far. */
  #era: number

  private constructor(deps: Deps<Pool>, patient: Deps<Pool>, seen: Snapshot, era: number) {
    this.#deps = deps
    this.#patient = patient
    this.#watchHorizon = horizonWatch(deps)
    this.#seen = seen
    this.#era = era
  }

  /** Begins with what is committed from now on. */
  static async begin(deps: Deps<Pool>, patient: Deps<Pool>): Promise<NewRevocations> {
    if (!(await adoptFeeds(deps.db))) await transaction(patient, (patient) => continueFeeds(patient, 0))
    const era = eraOf(deps.db)
    const { snapshot } = await Feed.getState(deps.db, revocationFeed)
    return new NewRevocations(deps, patient, snapshot, era)
  }

  /** Publishes a portion. Returns whether there may be more. */
  async publish(): Promise<boolean> {
    const { db, revocationHub: hub } = this.#deps
    // Before the rows, so that all that it sees are among them.
    const { cursors, snapshot } = await Feed.getState(db, revocationFeed)
    this.#watchHorizon(snapshot)
    const read = await listUnseen<RevocationRow>(db, revocationFeed, this.#seen, batchSize)
    if (this.#era !== eraOf(db)) {
      await this.#goOnAfterFailover(cursors)
      return true
    }
    const { wholeOf, below, passed, hasMore } = portionOf(read, batchSize, { seen: this.#seen, now: snapshot })
    const rows = wholeOf === undefined ? read : await listOfPosition<RevocationRow>(db, revocationFeed, wholeOf)
    const fresh = rows.filter(({ position }) => position < below && sees(snapshot, position))
    const events = withCursors(fresh, cursors, cursors.horizonOf(passed))
      .filter(({ app_id, session_id }) => app_id !== null || session_id === null)
      .flatMap(eventsOf)
    this.#seen = passed
    await hub.publish(events, passed)
    this.#observeLag(fresh)
    return hasMore
  }

  /** All streams start over. `cursors` are those of the former database. */
  async #goOnAfterFailover(cursors: FeedCursors): Promise<void> {
    const { db, revocationHub: hub, logger } = this.#deps
    const next = eraOf(db)
    const known = cursors.cursorOf(cursors.placeOfPosition(this.#seen.xmax))
    const patient = this.#patient
    await transaction(patient, (patient) => continueFeeds(patient, known))
    const state = await Feed.getState(db, revocationFeed)
    this.#seen = state.snapshot
    this.#era = next
    await hub.startOver(resetFrame)
    logger.warn({ cursor: state.cursors.first }, 'the database has failed over; consumers start over with its revocations')
  }

  #observeLag(rows: readonly { at: number }[]): void {
    const now = this.#deps.clock()
    for (const { at } of rows) this.#deps.metrics.revocationLagSeconds.observe(Math.max(0, now - at) / 1_000)
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

/** Ends outdated streams, when the catalog has changed since it looked, or streams were opened. */
function outdatedWatch(deps: Deps): () => Promise<void> {
  const { revocationHub: hub } = deps
  let checkedGeneration: string | undefined
  return async () => {
    if (hub.streamCount === 0) return
    const generation = await Generation.ofCatalog(deps.db)
    if (generation === checkedGeneration && !hub.hasNew) return
    hub.hasNew = false
    await endOutdatedStreams(deps, generation)
    checkedGeneration = generation
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
