import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { ConsumerCaller } from '../../lib/caller.ts'
import { ConsumerSecret } from '../../models/consumer-secret.ts'
import { assertAppActive } from '../apps/get-app.ts'
import { joinKids, noteConsumerSecrets } from './note-consumer-secrets.ts'

/**
 * The consumer that an assertion speaks for (docs/revocation.md#in-another-language), and a note of the secrets it accepts.
 * Throws `token_invalid`, also for an app that does not exist, `token_expired`, `app_inactive`.
 */
export async function authenticateConsumer(deps: Deps, assertion: string): Promise<ConsumerCaller> {
  const verified = deps.consumerAssertions.verify(assertion, deps.clock())
  if ('fault' in verified) throw new ApiError(verified.fault === 'expired' ? 'token_expired' : 'token_invalid')
  const { appCode, kids } = verified.claims
  const app = await ConsumerSecret.findApp(deps.db, appCode, joinKids(kids))
  if (!app) throw new ApiError('token_invalid', { detail: 'No app has the code in `sub`' })
  assertAppActive(app)
  await noteConsumerSecrets(deps, { appId: app.id, kids, lastSeenAt: app.last_seen_at })
  return { kind: 'consumer', appId: app.id, appCode, kids }
}
