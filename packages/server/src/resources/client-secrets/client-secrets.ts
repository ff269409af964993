import { z } from 'zod'
import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { type Actor, type ClientCaller, hasAuthenticated } from '../../lib/caller.ts'
import { id, page, shownOnce, timestamp } from '../../lib/fields.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { hashOpaqueToken, newOpaqueToken, TOKEN_PREFIXES } from '../../lib/random.ts'
import { present } from '../../lib/records.ts'
import { newId } from '../../lib/uuid.ts'
import type { App } from '../../models/app.ts'
import { ClientSecret } from '../../models/client-secret.ts'
import { Generation } from '../../models/generation.ts'
import { withPage } from '../../models/list-query.ts'
import { getApp, getAppForUpdate } from '../apps/apps.ts'
import { recordEvent } from '../audit/record-event.ts'
import { readCatalog } from '../catalog/catalog.ts'

const clientSecretRecord = z
  .object({ id, created_at: timestamp, last_used_at: timestamp.nullable() })
  .meta({ id: 'ClientSecret', description: 'A client secret of an app, without the secret itself' })

export const clientSecretPage = page(clientSecretRecord)

export const createdClientSecret = z
  .object({ id, secret: shownOnce('The secret, 256 random bits after `gcs_`. It is not shown again') })
  .meta({ id: 'CreatedClientSecret' })

/** `last_used_at` is written at most this often. */
const useResolutionMs = 60_000

/**
 * Authenticates an app by its client secret. A public app needs none, but a wrong one is refused, so that it can be given a secret
 * before it becomes confidential. An unknown app that sends none is left to the route. Throws `invalid_client`.
 */
export async function authenticateClient(
  deps: Deps,
  { code, secret }: { code: string; secret: string | undefined },
): Promise<ClientCaller> {
  // Most public apps are known from memory. One that has just become confidential gets nothing, since the gate reads it again.
  const { latest } = deps.catalogCache
  const remembered = secret === undefined && latest ? await (await readCatalog(deps, latest)).findApp({ code }) : undefined
  if (remembered?.client === 'public') return { code, hasShownSecret: false }
  if (secret === undefined) {
    const app = await (await readCatalog(deps)).findApp({ code })
    if (app?.client === 'confidential') throw new ApiError('invalid_client', { detail: 'The app must send its client secret' })
    return { code, hasShownSecret: false }
  }
  const { generation, ...found } = await Generation.ofCatalogWithSecret(deps.db, hashOpaqueToken(secret))
  const app = await (await readCatalog(deps, generation)).findApp({ code })
  if (found.secret_id === null || found.app_id !== app?.id)
    throw new ApiError('invalid_client', { detail: 'The client secret is wrong' })
  const now = deps.clock()
  const before = now - useResolutionMs
  if (found.last_used_at === null || found.last_used_at <= before)
    await ClientSecret.noteUse(deps.db, found.secret_id, { now, latest: before })
  return { code, hasShownSecret: true }
}

/**
 * Throws `invalid_client` if the app is confidential and has not shown its secret, as at each of the API's own calls for tokens.
 */
export function assertAuthenticated(app: App, client: ClientCaller | undefined): void {
  if (hasAuthenticated(app, client)) return
  throw new ApiError('invalid_client', {
    detail:
      'The app is confidential: its users sign in at /oauth/authorize, and it gets their tokens at /oauth/token with its client secret',
  })
}

/** The one in use, and the one that replaces it. */
const mostSecrets = 2

/** The client secrets of an app, newest first. Throws `not_found`. */
export async function listClientSecrets(deps: Deps, ref: string, request: PageRequest): Promise<Page<ClientSecret>> {
  const app = await getApp(deps, ref)
  return withPage(ClientSecret.query(deps.db).where({ app_id: app.id }), request, 'client_secrets.id')
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
    if ((await ClientSecret.list(deps.db, { app_id: app.id }).select('id')).length >= mostSecrets)
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
    if ((await ClientSecret.remove(deps.db, { id, app_id: app.id })) === 0)
      throw new ApiError('not_found', { detail: 'The app has no such client secret' })
    await recordEvent(deps, { event: 'client_secret.revoked', actor, appId: app.id, details: { id } })
  })
}

/** A client secret as an admin sees it. */
export function presentClientSecret(secret: ClientSecret): z.output<typeof clientSecretRecord> {
  return present(clientSecretRecord, secret)
}
