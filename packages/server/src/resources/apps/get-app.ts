import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { App } from '../../models/app.ts'
import { readCatalog } from '../catalog/read-catalog.ts'
import { unknownApp } from '../names/unknown-name.ts'

/** The app that `{appId}` of a path names, by UUID or code. Throws `not_found`. */
export async function getApp(deps: Deps, ref: string): Promise<App> {
  return known(deps, await App.findByRef(deps.db, ref), ref)
}

/** Gets the app and locks it until the transaction ends. */
export async function getAppForUpdate(deps: Deps<Tx>, ref: string): Promise<App> {
  return known(deps, await App.findByRefForUpdate(deps.db, ref), ref)
}

/** Gets the app and keeps it from being deleted until the transaction ends. */
export async function getKeptApp(deps: Deps<Tx>, ref: string): Promise<App> {
  return known(deps, await App.findByRefKept(deps.db, ref), ref)
}

async function known(deps: Deps, app: App | undefined, ref: string): Promise<App> {
  if (!app) throw await unknownApp(deps, ref)
  return app
}

/**
 * The app that a login or registration names by code, read at the given generation of the catalog or else at the current one.
 * Throws `app_not_found`, `app_inactive`.
 */
export async function getActiveApp(deps: Deps, code: string, catalogGeneration?: string): Promise<App> {
  const app = await (await readCatalog(deps, catalogGeneration)).findApp({ code })
  if (!app) throw new ApiError('app_not_found', { detail: 'No app has this code' })
  assertAppActive(app)
  return app
}

export function assertAppActive(app: Pick<App, 'status'>): void {
  if (app.status !== 'active') throw new ApiError('app_inactive')
}
