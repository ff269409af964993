import type { Pool, Tx } from '../../db/handle.ts'
import { forUpdate, keptFromDeletion } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, refuseChanged, refuseTaken } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { keysOf } from '../../lib/collections.ts'
import { beyondApp } from '../../lib/configurable.ts'
import { keyOfSecret } from '../../lib/keyrings.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { changedMembers, type SentBack } from '../../lib/sent-back.ts'
import { newId } from '../../lib/uuid.ts'
import { App, type AppColumns } from '../../models/app.ts'
import { AppKey } from '../../models/app-key.ts'
import { DeletedApp } from '../../models/deleted-app.ts'
import { whereContains, withPage } from '../../models/list-query.ts'
import { UserApp } from '../../models/user-app.ts'
import { recordEvent } from '../audit/record-event.ts'
import { appSecretContext, readCatalog, renewCatalog, type TokenSizeWarning, warnOfTokenSize } from '../catalog/catalog.ts'
import { announce } from '../feeds/feeds.ts'
import { unknownApp } from '../names/unknown-name.ts'
import { endAccessOfApp, endMachineTokensOfApp } from '../revocations/end-tokens.ts'
import { assertAdministrable, lockAdministration } from '../users/administration.ts'
import { type AppWarning, type BypassWarning, blankApp, listWarnings, resolveAppChanges, warnOfBypass } from './app-settings.ts'
import { presentApp } from './present.ts'
import type { AppInput, CreateAppInput, UpdateAppInput } from './schema.ts'

/** The app that `{appId}` of a path names, by UUID or code. Throws `not_found`. */
export async function getApp(deps: Deps, ref: string): Promise<App> {
  return known(deps, await App.findByRef(deps.db, ref), ref)
}

/** Gets the app and locks it until the transaction ends. */
export async function getAppForUpdate(deps: Deps<Tx>, ref: string): Promise<App> {
  return known(deps, await forUpdate(deps.db, App.findByRef(deps.db, ref)), ref)
}

/** Gets the app and keeps it from being deleted until the transaction ends. */
export async function getKeptApp(deps: Deps<Tx>, ref: string): Promise<App> {
  return known(deps, await keptFromDeletion(deps.db, App.findByRef(deps.db, ref)), ref)
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

/** An app that administers the service. With `*` every app may, so only `authctl` counts. */
export function isAdminApp(
  { adminAppCodes: codes }: { adminAppCodes: readonly string[] },
  app: Pick<App, 'built_in' | 'code'>,
): boolean {
  return codes.includes('*') ? app.built_in : codes.includes(app.code)
}

/** Apps, newest first. */
export async function listApps(
  deps: Deps,
  request: PageRequest & { status?: string | undefined; q?: string | undefined },
): Promise<Page<App>> {
  const query = App.query(deps.db)
  if (request.status) query.where({ status: request.status })
  if (request.q) whereContains(query, ['code', 'name'], request.q)
  return withPage(query, request, 'apps.id')
}

/** An app, with warnings if its tokens are long, or if users get in whom it would not register. Throws `not_found`. */
export async function showApp(deps: Deps, ref: string): Promise<{ app: App; warnings: (TokenSizeWarning | BypassWarning)[] }> {
  const app = await getApp(deps, ref)
  const bypassed = (await warnOfBypass(deps, app.id)).filter(({ app: code }) => code === app.code)
  return { app, warnings: [...(await warnOfTokenSize(deps, ({ id }) => id === app.id)), ...bypassed] }
}

interface AppSecret {
  secret: string
  kid: string
  stage: AppKey['stage']
}

/**
 * The newest secret that only this app has; while a change is prepared, that is the next one. Only for the command line on the
 * machine of the service: no route returns it. Throws `not_found`, and `signing_step_impossible` if the app has no such secret.
 */
export async function readAppSecret(deps: Deps<Pool>, code: string, actor: Actor): Promise<AppSecret> {
  return transaction(deps, async (deps) => {
    const app = await getKeptApp(deps, code)
    const keys = (await AppKey.list(deps.db, { app_id: app.id }).orderBy('version')).flatMap(({ secret_box, ...key }) =>
      secret_box === null ? [] : [{ ...key, secret_box }],
    )
    const newest = keys.at(-1)
    if (!newest)
      throw new ApiError('signing_step_impossible', {
        detail: `${app.code} has no secret of its own. Create one: authctl app signing ${app.code} --step prepare`,
      })
    const secret = deps.secretBox.open(newest.secret_box, appSecretContext(app.id, newest.version))
    const found = { secret, kid: keyOfSecret(secret).id, stage: newest.stage }
    await recordEvent(deps, {
      event: 'app.secret_read',
      actor,
      appId: app.id,
      details: { kid: found.kid, stage: found.stage },
    })
    return found
  })
}

/**
 * Creates an app, and returns warnings for the admin who set it up. Throws `app_code_taken` and the errors of
 * `resolveAppChanges`.
 */
export async function createApp(
  deps: Deps<Pool>,
  input: CreateAppInput,
  actor: Actor,
): Promise<{ app: App; warnings: AppWarning[] }> {
  const app = await insert(deps, input, actor)
  return { app, warnings: await listWarnings(deps, { after: app, input }) }
}

async function insert(deps: Deps<Pool>, { code, ...input }: CreateAppInput, actor: Actor): Promise<App> {
  const now = deps.clock()
  const blank = blankApp(newId(now), code)
  return transaction(deps, async (deps) => {
    // Leaving out the redirect URLs counts as setting an empty list, which is refused in production.
    const settings = { ...input, allowed_redirect_urls: input.allowed_redirect_urls ?? null }
    const changes = await resolveAppChanges(deps, blank, settings)
    assertWithinBounds(deps, actor, { ...blank, status: 'inactive' }, { ...blank, ...changes })
    await renewCatalog(deps)
    // From here on, consumers with this code belong to the new app.
    if (await DeletedApp.remove(deps.db, { code })) announce(deps)
    const app = await App.query(deps.db).insertAndFetch({ ...blank, ...changes, created_at: now, updated_at: now })
    await recordEvent(deps, { event: 'app.created', actor, appId: app.id, details: { after: presentApp(app) } })
    return app
  }).catch(refuseTaken('app_code_taken', `Another app has the code ${code}`))
}

/**
 * Changes settings of an app. It locks the row while it checks the merged record, and writes only the given columns, so
 * concurrent changes to different fields both stick.
 * Deactivating the app kills its access tokens; its sessions go on once it is active again. Turning off `machine_tokens` kills
 * the tokens of the service accounts that could get tokens for it.
 * Throws `not_found`, `code_immutable`, `last_system_admin` and the errors of `resolveAppChanges`.
 */
export async function updateApp(
  deps: Deps<Pool>,
  ref: string,
  input: UpdateAppInput,
  sentBack: SentBack,
  actor: Actor,
): Promise<{ app: App; warnings: AppWarning[] }> {
  const { before, after } = await change(deps, ref, input, sentBack, actor)
  return { app: after, warnings: await listWarnings(deps, { before, after, input }) }
}

async function change(
  deps: Deps<Pool>,
  ref: string,
  input: AppInput,
  sentBack: SentBack,
  actor: Actor,
): Promise<{ before: App; after: App }> {
  return transaction(deps, async (deps) => {
    const barsAdmins =
      input.status === 'inactive' ||
      input.require_verified_email === true ||
      input.registration_namespace !== undefined ||
      input.read_namespaces !== undefined
    if (barsAdmins) await lockAdministration(deps)
    const current = await getAppForUpdate(deps, ref)
    refuseChanged(changedMembers(sentBack, presentApp(current)))
    const changes = await resolveAppChanges(deps, current, input)
    assertWithinBounds(deps, actor, current, { ...current, ...changes })
    if (Object.keys(changes).length === 0) return { before: current, after: current }
    await renewCatalog(deps)
    const closes = current.status === 'active' && changes.status === 'inactive'
    if (closes) await endAccessOfApp(deps, current.id)
    const updated = await App.query(deps.db).patchAndFetchById(current.id, { ...changes, updated_at: deps.clock() })
    if (barsAdmins) await assertAdministrable(deps)
    await recordEvent(deps, {
      event: 'app.updated',
      actor,
      appId: current.id,
      details: difference(presentApp(current), presentApp(updated)),
    })
    if (current.machine_tokens && !updated.machine_tokens) await endMachineTokensOfApp(deps, current.id)
    return { before: current, after: updated }
  })
}

/**
 * Throws `system_admin_required` if a caller who configures within bounds would go beyond them. For such a caller a new app is
 * inactive, since apps may link its code already.
 */
function assertWithinBounds({ config }: Deps, { caller }: Actor, before: AppColumns, after: AppColumns): void {
  if (!caller?.authority.configuresWithinBounds) return
  const beyond = beyondApp(before, after)
  const what = isAdminApp(config, after)
    ? 'apps that administer the service'
    : beyond.length > 0 && `these settings of an app: ${beyond.join(', ')}`
  if (what) throw new ApiError('system_admin_required', { detail: `admin:configure does not cover ${what}` })
}

function difference<T extends object>(before: T, after: T): { before: Partial<T>; after: Partial<T> } {
  const changed = keysOf(after).filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]))
  const pick = (record: T) => {
    const picked: Partial<T> = {}
    for (const key of changed) picked[key] = record[key]
    return picked
  }
  return { before: pick(before), after: pick(after) }
}

/**
 * Deletes an app with its grants and sessions, and kills its access tokens. A later app with the same code is a different app.
 * Needs `force` while users still have access.
 * Throws `not_found`, `built_in`, `app_in_use`, `last_system_admin`.
 */
export async function deleteApp(deps: Deps<Pool>, ref: string, options: { force: boolean }, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    await lockAdministration(deps)
    const app = await getAppForUpdate(deps, ref)
    if (app.built_in) throw new ApiError('built_in', { detail: `${app.code} cannot be deleted` })
    const [grant] = await UserApp.query(deps.db)
      .where({ app_id: app.id, status: 'active' })
      .where((any) => any.whereNull('expires_at').orWhere('expires_at', '>', deps.clock()))
      .limit(1)
    if (grant && !options.force)
      throw new ApiError('app_in_use', { detail: 'Revoke its grants first, or delete with ?force=true' })
    await renewCatalog(deps)
    await endAccessOfApp(deps, app.id)
    await keepForConsumers(deps, app)
    await App.remove(deps.db, { id: app.id })
    if (app.status === 'active') await assertAdministrable(deps)
    await recordEvent(deps, { event: 'app.deleted', actor, appId: app.id, details: { before: presentApp(app) } })
  })
}

/** Keeps what consumers of a deleted app need for a while: the keys go with the app. */
async function keepForConsumers(deps: Deps<Tx>, { id, code }: App): Promise<void> {
  const keys = await AppKey.list(deps.db, { app_id: id }).orderBy('version').select('version', 'stage', 'secret_box')
  const row = { code, app_id: id, deleted_at: deps.clock(), keys: JSON.stringify(keys) }
  await DeletedApp.query(deps.db).insert(row).onConflict('code').merge()
}
