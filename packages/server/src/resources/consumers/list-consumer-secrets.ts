import type { Deps } from '../../deps.ts'
import type { App } from '../../models/app.ts'
import { ConsumerSecret } from '../../models/consumer-secret.ts'
import { Service } from '../../models/service.ts'
import { readCatalog } from '../catalog/read-catalog.ts'

export interface SeenSecret {
  appCode: string
  signing: App['signing']
  /** Null for consumers that do not say which secrets they accept. */
  kid: string | null
  /** Whether this server accepts it for the app. */
  isOurs: boolean
  lastSeenAt: number
  /** When a consumer of the app that does not accept this secret was last seen; null for never. */
  lastMissingAt: number | null
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
        appCode,
        signing,
        kid: kid === '' ? null : kid,
        isOurs: keyrings.ofCode(() => appCode).some(({ id }) => id === kid),
        lastSeenAt: Math.max(...times(true)),
        lastMissingAt: missing.length > 0 ? Math.max(...missing) : null,
      }
    })
    return ofEach.sort((a, b) => b.lastSeenAt - a.lastSeenAt)
  })
  return { serviceId, seen }
}
