import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { AssertedConsumer } from '../../lib/caller.ts'
import { iso } from '../../lib/timestamps.ts'
import type { consumerRecord } from './schema.ts'

/** The app of a consumer as it is here, and by which secrets and which clock this server goes. Throws `consumer_app_not_found`. */
export function describeConsumer(deps: Deps, { app, appCode, serviceId }: AssertedConsumer): z.output<typeof consumerRecord> {
  if (!app || app.status === 'deleted') throw new ApiError('consumer_app_not_found', { detail: `No app has the code ${appCode}` })
  return {
    service_id: serviceId,
    app: { id: app.id, code: appCode, status: app.status, permission_scope: app.permission_scope, signing: 'shared' },
    kids: deps.accessTokens.keyIds.filter((kid) => kid !== undefined),
    time: iso(deps.clock()),
  }
}
