import type { HubEvent } from '../adapters/revocation-hub.ts'
import { eraOf, type Pool } from '../db/handle.ts'
import { listenFor } from '../db/notify.ts'
import { transaction } from '../db/transaction.ts'
import type { Deps } from '../deps.ts'
import { Generation } from '../models/generation.ts'
import { Revocation, type RevocationRow } from '../models/revocation.ts'
import { frameRevocation, resetFrame } from '../resources/revocations/present.ts'
import { readAllRevocations } from '../resources/revocations/read-revocations.ts'
import { continueFeed } from '../resources/revocations/restart-feed.ts'
import { endOutdatedStreams, tendStreams } from './end-outdated-streams.ts'
import { onDemand } from './on-demand.ts'

const batchSize = 500
/** How often to read while no notifications arrive from other processes. On SQLite always, because short commands write too. */
const pollMs = 1_000
const tendMs = 30_000

/**
 * Reads new revocations from the table, once for all streams of this process, and hands them to the hub. It reads when a
 * transaction of this process commits, when another server notifies it, and every second while it cannot hear notifications.
 * After a failover of the database it tells the streams to start over, and renumbers the rows of the last hour with `patient`.
 */
export async function startRevocationFeed(deps: Deps<Pool>, patient: Deps<Pool> = deps): Promise<{ stop(): Promise<void> }> {
  const { revocationHub: hub, logger } = deps
  const { newest, first } = await Revocation.readBounds(deps.db)
  hub.head = Math.max(newest, first)
  /** The era of the rows read so far. */
  let era = eraOf(deps.db)
  const goOnAfterFailover = async () => {
    const next = eraOf(deps.db)
    const cursor = await transaction(patient, (patient) => continueFeed(patient, hub.head))
    era = next
    await hub.publish([{ cursor, appId: null, form: 1, frame: resetFrame }], cursor)
    logger.warn({ cursor }, 'the database has failed over; consumers start over with its revocations')
  }
  const publishNew = async () => {
    const rows = await readAllRevocations(deps, hub.head, batchSize)
    if (era !== eraOf(deps.db)) {
      await goOnAfterFailover()
      return reader.wake()
    }
    if (rows.length === batchSize) reader.wake()
    const newest = rows.at(-1)
    if (!newest) return
    const events = rows.filter(({ app_id, session_id }) => app_id !== null || session_id === null).flatMap(eventsOf)
    await hub.publish(events, newest.cursor)
    const now = deps.clock()
    for (const { at } of rows) deps.metrics.revocationLagSeconds.observe(Math.max(0, now - at) / 1_000)
  }
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
    },
    (error) => logger.warn({ err: error }, 'revocations cannot be read; retrying every second'),
  )
  const { wake } = reader
  hub.onWake = wake

  const listener = listenFor(deps.db, 'gatehouse_revocations', {
    onMessage(payload) {
      if (!(Number(payload) <= hub.head)) wake()
    },
    onHearing() {
      logger.info('receiving revocations of other servers')
      wake()
    },
    onSilence(reason) {
      logger.warn({ err: reason }, 'LISTEN delivers nothing; reading revocations of other servers every second')
    },
  })
  const poll = setInterval(() => {
    if (reader.isFailing || !listener?.isHearing) wake()
  }, pollMs)
  const tend = setInterval(() => {
    tendStreams(deps).catch((error: unknown) => logger.warn({ err: error }, 'the streams of consumers could not be maintained'))
  }, tendMs)
  return {
    async stop() {
      hub.onWake = () => {}
      clearInterval(poll)
      clearInterval(tend)
      await listener?.stop()
      await reader.stop()
    },
  }
}

/** The events for a row. A row about all users of all apps is the first after a restored backup: streams start over with it. */
function eventsOf(row: RevocationRow): HubEvent[] {
  const { cursor, user_id: userId, app_id: appId } = row
  const event: HubEvent = { cursor, appId, form: userId === null ? 2 : 1, frame: frameRevocation(row) }
  return userId === null && appId === null ? [{ cursor, appId, form: 1, frame: resetFrame }, event] : [event]
}
