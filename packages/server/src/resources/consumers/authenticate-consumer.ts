import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { AssertedConsumer, ConsumerApp } from '../../lib/caller.ts'
import { verifyAssertion } from '../../lib/consumer-assertion.ts'
import { ConsumerSecret } from '../../models/consumer-secret.ts'
import { DeletedApp } from '../../models/deleted-app.ts'
import { Service } from '../../models/service.ts'
import { readCatalog } from '../catalog/read-catalog.ts'
import { revocationKeepMs } from '../revocations/read-revocations.ts'
import { joinKids, noteConsumerSecrets } from './note-consumer-secrets.ts'
import { readStanding } from './read-standing.ts'

/**
 * Returns the consumer that an assertion speaks for (docs/guard-a-backend/revocation.md#in-another-language), and notes which secrets it accepts.
 * Throws `token_invalid`, `token_expired`.
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
  const id = await DeletedApp.findId(deps.db, code, deps.clock() - revocationKeepMs)
  return id === undefined ? null : { id, status: 'deleted' }
}
