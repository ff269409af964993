import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { hashOpaqueToken, newOpaqueToken, TOKEN_PREFIXES } from '../../lib/opaque-token.ts'
import { newId } from '../../lib/uuid.ts'
import { ClientSecret } from '../../models/client-secret.ts'
import { getApp, getAppForUpdate } from '../apps/get-app.ts'
import { recordEvent } from '../audit/record-event.ts'

/** The one in use, and the one that replaces it. */
const mostSecrets = 2

/** The client secrets of an app, newest first. Throws `not_found`. */
export async function listClientSecrets(deps: Deps, ref: string, request: PageRequest): Promise<Page<ClientSecret>> {
  const app = await getApp(deps, ref)
  return ClientSecret.listPage(deps.db, app.id, request)
}

/**
 * Gives an app a client secret, which only this answer shows. A public app can have one, to be configured before the app becomes
 * confidential. Throws `not_found`, `client_secret_limit`, `built_in`.
 */
export async function createClientSecret(deps: Deps<Pool>, ref: string, actor: Actor): Promise<{ id: string; secret: string }> {
  const secret = newOpaqueToken(TOKEN_PREFIXES.clientSecret)
  return transaction(deps, async (deps) => {
    // Of calls at the same moment, no two find room for the last one.
    const app = await getAppForUpdate(deps, ref)
    if (app.built_in) throw new ApiError('built_in', { detail: `${app.code} has no client secret` })
    if ((await ClientSecret.count(deps.db, app.id)) >= mostSecrets)
      throw new ApiError('client_secret_limit', { detail: `${app.code} has ${mostSecrets} client secrets. Revoke one first` })
    const now = deps.clock()
    const id = newId(now)
    await ClientSecret.insert(deps.db, { id, app_id: app.id, hash: hashOpaqueToken(secret), created_at: now })
    await recordEvent(deps, { event: 'client_secret.created', actor, appId: app.id, details: { id } })
    return { id, secret }
  })
}

/** Revokes a client secret of an app at once. Sessions go on, with another secret of the app. Throws `not_found`. */
export async function revokeClientSecret(
  deps: Deps<Pool>,
  { appRef, id }: { appRef: string; id: string },
  actor: Actor,
): Promise<void> {
  await transaction(deps, async (deps) => {
    const app = await getAppForUpdate(deps, appRef)
    if (!(await ClientSecret.delete(deps.db, { id, app_id: app.id })))
      throw new ApiError('not_found', { detail: 'The app has no such client secret' })
    await recordEvent(deps, { event: 'client_secret.revoked', actor, appId: app.id, details: { id } })
  })
}
