import type { Deps } from '../../deps.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { App } from '../../models/app.ts'
import { type TokenSizeWarning, warnOfTokenSize } from '../catalog/warn-of-token-size.ts'
import { type CollisionWarning, warnOfCollisions } from '../pools/warn-of-collisions.ts'

/** The settings that can cause a warning. */
type PoolsAndPermissions = {
  [Field in 'registration_namespace' | 'read_namespaces' | 'service_codes' | 'permission_scope']?: unknown
}

export type AppWarning = CollisionWarning | TokenSizeWarning

/**
 * Warnings for the admin who set these settings of an app: e-mails that several users of its pools share, and long tokens.
 * Refuses nothing.
 */
export async function listWarnings(deps: Deps, app: App, set: PoolsAndPermissions): Promise<AppWarning[]> {
  const setsPools = set.registration_namespace !== undefined || set.read_namespaces !== undefined
  const setsPermissions = set.service_codes !== undefined || set.permission_scope !== undefined
  return [
    ...(setsPools ? await warnOfCollisions(deps, poolSet(app)) : []),
    ...(setsPermissions ? await warnOfTokenSize(deps, ({ id }) => id === app.id) : []),
  ]
}
