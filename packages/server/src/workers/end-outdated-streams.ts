import type { Deps } from '../deps.ts'
import { App } from '../models/app.ts'
import { DeletedApp } from '../models/deleted-app.ts'
import { readCatalog } from '../resources/catalog/catalog.ts'
import { fewAlike, noteConsumerSecrets, readStanding } from '../resources/consumers/consumers.ts'
import { revocationKeepMs } from '../resources/revocations/revocations.ts'

/**
 * Ends the streams whose app has other keys than when the consumer was authenticated, so that the consumer has to show a key that
 * counts now, and those whose code is another app's now, or nobody's.
 */
export async function endOutdatedStreams(deps: Deps, generation: string): Promise<void> {
  const catalog = await readCatalog(deps, generation)
  for (const { appId, appCode, standing } of deps.revocationHub.owners())
    if ((await readStanding(catalog, appCode)) !== standing) deps.revocationHub.endApp(appId, standing)
}

/** Records consumers with open streams as seen. Ends streams of a deleted app once its events expire or its code is reused. */
export async function tendStreams(deps: Deps): Promise<void> {
  const owners = deps.revocationHub.owners()
  const appIds = [...new Set(owners.map(({ appId }) => appId))]
  const existing = new Set(await App.listIds(deps.db, appIds))
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
