import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { keyOfSecret } from '../../lib/keyrings.ts'
import { randomText } from '../../lib/random.ts'
import { iso } from '../../lib/timestamps.ts'
import { App } from '../../models/app.ts'
import { AppKey, type AppKeyRow } from '../../models/app-key.ts'
import { recordEvent } from '../audit/record-event.ts'
import { appSecretContext, renewCatalog } from '../catalog/catalog.ts'
import { findBehind } from '../consumers/consumers.ts'
import { announce } from '../feeds/feeds.ts'
import { getAppForUpdate } from './apps.ts'
import type { Signing } from './present.ts'
import type { ChangeSigningInput } from './schema.ts'

const secretBytes = 32

/** The states in which each step is allowed. */
const startsOf = {
  prepare: ['settled'],
  switch: ['prepared'],
  finish: ['switched'],
  abort: ['prepared', 'switched'],
} as const satisfies Record<ChangeSigningInput['step'], readonly Signing['state'][]>

/**
 * Moves the key change of an app one step forward, or takes the last step back (docs/administer/own-keys.md). A committed step
 * holds on every server, since each server reads the keys again at its next request. Throws `not_found`, `signing_step_impossible`,
 * and for `finish` without `force` `consumers_behind`: while a consumer was recently seen without the key, or old tokens still
 * live.
 */
export async function changeSigning(
  deps: Deps<Pool>,
  ref: string,
  input: ChangeSigningInput & { force: boolean },
  actor: Actor,
): Promise<Signing> {
  return transaction(deps, async (deps) => {
    const app = await getAppForUpdate(deps, ref)
    const before = await describeSigning(deps, app)
    const allowed: readonly string[] = startsOf[input.step]
    if (!allowed.includes(before.state))
      throw new ApiError('signing_step_impossible', {
        detail: `${app.code} is ${before.state}: ${input.step} is not possible now`,
      })
    if (input.step === 'finish' && !input.force) await assertAllFollow(deps, before)
    await renewCatalog(deps)
    await takeStep(deps, app, input)
    const keys = await AppKey.list(deps.db, { app_id: app.id }).orderBy('version')
    const signing = keys.some(({ stage, secret_box }) => stage === 'current' && secret_box !== null) ? 'own' : 'shared'
    const changed = await App.query(deps.db).patchAndFetchById(app.id, { signing, updated_at: deps.clock() })
    const after = await describeSigning(deps, changed)
    const { step } = input
    const details = { step, before: summaryOf(before), after: summaryOf(after) }
    await recordEvent(deps, { event: 'app.signing_changed', actor, appId: app.id, details })
    announce(deps)
    return after
  })
}

async function takeStep(deps: Deps<Tx>, { id: appId }: App, { step, key }: ChangeSigningInput): Promise<void> {
  const now = deps.clock()
  const move = (from: AppKey['stage'], to: AppKey['stage']) =>
    AppKey.update(deps.db, { app_id: appId, stage: from }, { stage: to, created_at: now })
  const remove = (...stages: AppKey['stage'][]) => AppKey.list(deps.db, { app_id: appId }).whereIn('stage', stages).delete()
  const keys = await AppKey.list(deps.db, { app_id: appId }).orderBy('version')
  const state = stateOf(keys)
  if (step === 'prepare') {
    const version = Math.max(0, ...keys.map(({ version }) => version)) + 1
    if (key === 'shared' && keys.length === 0)
      throw new ApiError('signing_step_impossible', { detail: 'The app already has the shared secret' })
    const box = key === 'own' ? deps.secretBox.seal(randomText(secretBytes), appSecretContext(appId, version)) : null
    await AppKey.insert(deps.db, { app_id: appId, version, secret_box: box, stage: 'next', created_at: now })
  } else if (step === 'switch') {
    // The first change replaces the shared secret, which has no row yet.
    if (keys.some(({ stage }) => stage === 'current')) await move('current', 'previous')
    else await AppKey.insert(deps.db, { app_id: appId, version: 0, secret_box: null, stage: 'previous', created_at: now })
    await move('next', 'current')
  } else if (step === 'finish') {
    const isBackToShared = keys.some(({ stage, secret_box }) => stage === 'current' && secret_box === null)
    await (isBackToShared ? remove('previous', 'current') : remove('previous'))
  } else if (state === 'prepared') {
    await remove('next')
  } else {
    await move('current', 'next')
    const wasShared = keys.some(({ stage, version }) => stage === 'previous' && version === 0)
    if (wasShared) await remove('previous')
    else await move('previous', 'current')
  }
}

async function assertAllFollow(deps: Deps, { app, keys, switchedAt }: Signing): Promise<void> {
  const [current] = keys
  const behind = current && (await findBehind(deps, app.code, current.kid))
  if (behind) {
    const seen = `A consumer of ${app.code} was seen at ${iso(behind.behindSeenAt)} without the key ${current.kid}`
    const clear =
      behind.clearAt === null ? '' : `. Unless it is seen so again, it no longer counts from ${iso(behind.clearAt)} on`
    const detail = `${seen}${clear}`
    throw new ApiError('consumers_behind', { detail })
  }
  const deadAt = (switchedAt ?? 0) + deps.config.accessTtlSeconds * 1_000
  if (deadAt > deps.clock()) {
    const detail = `Tokens signed with the old key are valid until ${new Date(deadAt).toISOString()}`
    throw new ApiError('consumers_behind', { detail })
  }
}

function summaryOf({ app, state, keys }: Signing) {
  return { signing: app.signing, state, keys: keys.map(({ stage, kid, source }) => ({ stage, kid, source })) }
}

export function stateOf(keys: readonly Pick<AppKeyRow, 'stage'>[]): Signing['state'] {
  const has = (stage: AppKey['stage']) => keys.some((key) => key.stage === stage)
  return has('next') ? 'prepared' : has('previous') ? 'switched' : 'settled'
}

/** Which key signs for an app, which keys are accepted, and how far a key change has got. */
export async function describeSigning(deps: Deps, app: App): Promise<Signing> {
  const rows = await AppKey.list(deps.db, { app_id: app.id }).orderBy('version')
  const shown = rows.map((row) => ({
    kid: kidOf(deps, row),
    stage: row.stage,
    source: row.secret_box === null ? ('shared' as const) : ('own' as const),
    since: row.created_at,
  }))
  const current = shown.find(({ stage }) => stage === 'current') ?? {
    kid: deps.sharedKeys[0].id,
    stage: 'current' as const,
    source: 'shared' as const,
    since: null,
  }
  const state = stateOf(rows)
  const newest = shown.find(({ stage }) => stage === 'next') ?? current
  return {
    app,
    state,
    keys: [current, ...shown.filter(({ stage }) => stage !== 'current')],
    switchedAt: state === 'switched' ? current.since : null,
    behind: state === 'settled' ? undefined : await findBehind(deps, app.code, newest.kid),
  }
}

function kidOf(deps: Deps, { app_id, version, secret_box }: AppKeyRow): string {
  if (secret_box === null) return deps.sharedKeys[0].id
  return keyOfSecret(deps.secretBox.open(secret_box, appSecretContext(app_id, version))).id
}
