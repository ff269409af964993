import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { AssertedConsumer } from '../../lib/caller.ts'
import { iso } from '../../lib/timestamps.ts'
import { readCatalog } from '../catalog/read-catalog.ts'
import type { consumerRecord } from './schema.ts'

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
