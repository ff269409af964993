import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { type ClientCaller, hasAuthenticated } from '../../lib/caller.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import type { App } from '../../models/app.ts'
import { ClientSecret } from '../../models/client-secret.ts'
import { readCatalog } from '../catalog/read-catalog.ts'

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
  const app = await (await readCatalog(deps)).findApp({ code })
  if (secret === undefined) {
    if (app?.client === 'confidential') throw new ApiError('invalid_client', { detail: 'The app must send its client secret' })
    return { code, hasShownSecret: false }
  }
  const found = app && (await ClientSecret.find(deps.db, { appId: app.id, hash: hashOpaqueToken(secret) }))
  if (!found) throw new ApiError('invalid_client', { detail: 'The client secret is wrong' })
  const now = deps.clock()
  const before = now - useResolutionMs
  if (found.last_used_at === null || found.last_used_at <= before)
    await ClientSecret.noteUse(deps.db, found.id, { now, latest: before })
  return { code, hasShownSecret: true }
}

/** Throws `invalid_client` if the app is confidential and has not shown its secret, as at each of the API's own doors. */
export function assertAuthenticated(app: App, client: ClientCaller | undefined): void {
  if (hasAuthenticated(app, client)) return
  throw new ApiError('invalid_client', {
    detail:
      'The app is confidential: its users sign in at /oauth/authorize, and it gets their tokens at /oauth/token with its client secret',
  })
}
