import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { AssertedConsumer, ConsumerApp } from '../../lib/caller.ts'
import { verifyAssertion } from '../../lib/consumer-assertion.ts'
import { id, timestamp } from '../../lib/fields.ts'
import type { Keyring } from '../../lib/keyrings.ts'
import { present, type Stored } from '../../lib/records.ts'
import { iso } from '../../lib/timestamps.ts'
import { ConsumerSecret } from '../../models/consumer-secret.ts'
import { DeletedApp } from '../../models/deleted-app.ts'
import { Service } from '../../models/service.ts'
import { type Catalog, readCatalog } from '../catalog/catalog.ts'
import { revocationKeepMs } from '../revocations/revocations.ts'

const kid = z.string().meta({ description: 'The first 8 hex digits of SHA-256 over `gatehouse-kid:` and the secret' })

const signing = z.enum(['shared', 'own']).meta({
  description: "Which secret signs its tokens: the shared one, or the app's own",
})

const seenSecret = z.object({
  app_code: z.string(),
  signing,
  kid: kid
    .nullable()
    .meta({ description: 'A secret that consumers of this app accept. Null for consumers that do not report one' }),
  is_ours: z.boolean().meta({ description: 'Whether this server accepts it for the app' }),
  last_seen_at: timestamp.meta({ description: 'When a consumer that accepts it was last seen, to within about a minute' }),
  last_missing_at: timestamp.nullable().meta({
    description: 'When a consumer of this app that does not accept it was last seen. Null if never',
  }),
})

type SeenSecret = Stored<z.output<typeof seenSecret>>

const serviceId = id.meta({ description: 'Id of this service. Each database has one' })

export const secretsRecord = z
  .object({
    service_id: serviceId,
    current: z.object({ kid }).meta({ description: 'Signs' }),
    previous: z.object({ kid }).nullable().meta({ description: 'Accepted as well' }),
    signing_since: timestamp.meta({
      description: 'When this server started, since it only takes another secret at a restart. Other servers have their own time',
    }),
    access_token_seconds: z.int().meta({ description: 'How long an access token lives' }),
    consumers: z.array(seenSecret),
  })
  .meta({ id: 'Secrets' })

/** The answer to a consumer that asks about itself. */
export const consumerRecord = z
  .object({
    service_id: serviceId,
    app: z.object({
      id,
      code: z.string(),
      status: z.enum(['active', 'inactive']),
      permission_scope: z.enum(['services', 'roles']),
      signing,
    }),
    kids: z.array(kid).meta({ description: 'The secrets that this server accepts for the app; the first one signs' }),
    time: timestamp.meta({ description: 'Time on the clock of this server' }),
  })
  .meta({ id: 'Consumer' })

/**
 * Returns the consumer that an assertion speaks for (docs/guard-a-backend/revocation.md#in-another-language), and notes which
 * secrets it accepts. Throws `token_invalid`, `token_expired`.
 */
export async function authenticateConsumer(deps: Deps, assertion: string): Promise<AssertedConsumer> {
  const catalog = await readCatalog(deps)
  const keyrings = await catalog.getKeyrings()
  const verified = verifyAssertion(assertion, deps.clock(), keyrings)
  if ('fault' in verified) throw new ApiError(verified.fault === 'expired' ? 'token_expired' : 'token_invalid')
  const { appCode, kids, hasOwnKey } = verified.claims
  const standing = await readStanding(catalog, appCode)
  const found = await ConsumerSecret.findApp(deps.db, appCode, joinKids(kids))
  if (!found) {
    const app = await findDeletedApp(deps, appCode)
    return { kind: 'consumer', app, appCode, kids, hasOwnKey, standing, serviceId: await Service.getId(deps.db) }
  }
  const { last_seen_at: lastSeenAt, service_id: serviceId, ...app } = found
  await noteConsumerSecrets(deps, { appId: app.id, kids, lastSeenAt, keyring: keyrings.ofApp(() => app.id) })
  return { kind: 'consumer', app, appCode, kids, hasOwnKey, standing, serviceId }
}

/** While tokens of a deleted app may still be in use, its consumers must learn that they are dead. */
async function findDeletedApp(deps: Deps, code: string): Promise<ConsumerApp | null> {
  const deleted = await DeletedApp.find(deps.db, { code })
    .select('app_id')
    .where('deleted_at', '>', deps.clock() - revocationKeepMs)
  return deleted ? { id: deleted.app_id, status: 'deleted' } : null
}

/**
 * Describes the app of a consumer, the secrets that this server accepts for it, and the clock of this server. Throws
 * `consumer_app_not_found`.
 */
export async function describeConsumer(
  deps: Deps,
  { app, appCode, serviceId }: AssertedConsumer,
): Promise<z.output<typeof consumerRecord>> {
  if (!app || app.status === 'deleted') throw new ApiError('consumer_app_not_found', { detail: `No app has the code ${appCode}` })
  const catalog = await readCatalog(deps)
  const keyring = (await catalog.getKeyrings()).ofCode(() => appCode)
  const { id, status, permission_scope, signing } = app
  return {
    service_id: serviceId,
    app: { id, code: appCode, status, permission_scope, signing },
    kids: keyring.map(({ id }) => id),
    time: iso(deps.clock()),
  }
}

/** Consumers are noted about once a minute. A consumer that was not seen for this long, while others were, counts as gone. */
const latelyMs = 5 * 60_000

/** An app with consumers that do not accept a key. */
export interface ConsumersBehind {
  appCode: string
  /** When a consumer that accepts the key was last seen; null for never. */
  currentSeenAt: number | null
  /** When a consumer that does not accept it was last seen. */
  behindSeenAt: number
  /** From when on that one counts as gone, if it is not seen again; null if no consumer accepts the key. */
  clearAt: number | null
}

/** Returns the app if one of its consumers was recently seen without the key of this id. */
export async function findBehind(deps: Deps, appCode: string, kid: string): Promise<ConsumersBehind | undefined> {
  const { seen } = await listConsumerSecrets(deps)
  return behindIn(
    appCode,
    seen.filter((each) => each.app_code === appCode),
    kid,
  )
}

/** Like `findBehind`, for the sets of secrets of one app that the caller has already read. */
export function behindIn(appCode: string, sets: readonly SeenSecret[], kid: string): ConsumersBehind | undefined {
  if (sets.length === 0) return undefined
  const accepting = sets.find((each) => each.kid === kid)
  if (!accepting) {
    const behindSeenAt = Math.max(...sets.map(({ last_seen_at }) => last_seen_at))
    return { appCode, currentSeenAt: null, behindSeenAt, clearAt: null }
  }
  const { last_seen_at: lastSeenAt, last_missing_at: lastMissingAt } = accepting
  if (lastMissingAt === null || lastSeenAt - lastMissingAt >= latelyMs) return undefined
  return { appCode, currentSeenAt: lastSeenAt, behindSeenAt: lastMissingAt, clearAt: lastMissingAt + latelyMs }
}

/**
 * The secrets that the consumers of each app say they accept, by app, the last seen first. Also returns the id of this service.
 */
export async function listConsumerSecrets(deps: Deps): Promise<{ serviceId: string; seen: SeenSecret[] }> {
  const serviceId = await Service.getId(deps.db)
  const sets = await ConsumerSecret.listByApp(deps.db)
  const keyrings = await (await readCatalog(deps)).getKeyrings()
  const apps = new Map(sets.map(({ code, signing }) => [code, signing]))
  const seen = [...apps].flatMap(([appCode, signing]) => {
    const ofApp = sets
      .filter(({ code }) => code === appCode)
      .map(({ kids, last_seen_at }) => ({ kids: kids.split(','), at: last_seen_at }))
    const ofEach = [...new Set(ofApp.flatMap(({ kids }) => kids))].map((kid) => {
      const times = (accepting: boolean) => ofApp.filter(({ kids }) => kids.includes(kid) === accepting).map(({ at }) => at)
      const missing = times(false)
      return {
        app_code: appCode,
        signing,
        kid: kid === '' ? null : kid,
        is_ours: keyrings.ofCode(() => appCode).some(({ id }) => id === kid),
        last_seen_at: Math.max(...times(true)),
        last_missing_at: missing.length > 0 ? Math.max(...missing) : null,
      }
    })
    return ofEach.sort((a, b) => b.last_seen_at - a.last_seen_at)
  })
  return { serviceId, seen }
}

/** An app and set of secrets is written at most this often, however many consumers call. */
const resolutionMs = 60_000
/** How many sets with the same ones of our keys are kept per app. They differ in key ids that only their consumers know. */
const mostAlike = 4

/** `kids` of a consumer as stored. */
function joinKids(kids: readonly string[]): string {
  return kids.join(',')
}

/**
 * Notes that a consumer of the app accepts these secrets and no others. `lastSeenAt` is when this set was last noted, null for
 * never, if the caller has read it.
 */
export async function noteConsumerSecrets(
  deps: Deps,
  { appId, kids, lastSeenAt, keyring }: { appId: string; kids: readonly string[]; lastSeenAt?: number | null; keyring: Keyring },
): Promise<void> {
  const now = deps.clock()
  const latest = now - resolutionMs
  if (lastSeenAt && lastSeenAt > latest) return
  await ConsumerSecret.note(deps.db, { app_id: appId, kids: joinKids(kids) }, { now, latest })
  if (lastSeenAt !== null) return
  const rows = await ConsumerSecret.list(deps.db, { app_id: appId }).orderBy('last_seen_at', 'desc').select('kids')
  const sets = rows.map(({ kids }) => kids)
  const kept = new Set(fewAlike(sets, keyring, (set) => set.split(',')))
  const forgotten = sets.filter((set) => !kept.has(set))
  if (forgotten.length > 0) await ConsumerSecret.list(deps.db, { app_id: appId }).whereIn('kids', forgotten).delete()
}

/**
 * Leaves out sets that hold the same ones of our keys as several before them. Which of our keys the consumers of an app accept, or
 * lack, can be read from the rest as well. Consumers can make up any number of key ids, but these push out only one another.
 */
export function fewAlike<S>(sets: readonly S[], keyring: Keyring, kidsOf: (set: S) => readonly string[]): S[] {
  const counts = new Map<string, number>()
  return sets.filter((set) => {
    const ours = joinKids(kidsOf(set).filter((kid) => keyring.some(({ id }) => id === kid)))
    const count = (counts.get(ours) ?? 0) + 1
    counts.set(ours, count)
    return count <= mostAlike
  })
}

/** Returns a text that changes when another app, or none, has the code, and when the keys of the app change. */
export async function readStanding(catalog: Catalog, appCode: string): Promise<string> {
  const app = await catalog.findApp({ code: appCode })
  const keyrings = await catalog.getKeyrings()
  return `${app?.id} ${kidsOf(() => keyrings.ofCode(() => appCode))}`
}

/** A key that cannot be opened has no id. No consumer is authenticated with it. */
function kidsOf(keyring: () => Keyring): string {
  try {
    return keyring()
      .map(({ id }) => id)
      .join()
  } catch {
    return ''
  }
}

/** The secrets that this server accepts, and those that the consumers of each app say they accept. */
export async function describeSecrets(deps: Deps): Promise<z.output<typeof secretsRecord>> {
  const { config, lifecycle, sharedKeys } = deps
  const [current, previous] = sharedKeys
  const { serviceId, seen } = await listConsumerSecrets(deps)
  return {
    service_id: serviceId,
    current: { kid: current.id },
    previous: previous ? { kid: previous.id } : null,
    signing_since: iso(lifecycle.startedAt),
    access_token_seconds: config.accessTtlSeconds,
    consumers: seen.map((each) => present(seenSecret, each)),
  }
}
