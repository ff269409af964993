import type { Deps } from '../../deps.ts'
import { signingKeyOf } from '../../lib/keyrings.ts'
import type { App } from '../../models/app.ts'
import { AppKey, type AppKeyRow } from '../../models/app-key.ts'
import { appSecretContext } from '../catalog/read-keyrings.ts'
import { findBehind } from '../consumers/find-behind.ts'
import type { Signing } from './present.ts'

export function stateOf(keys: readonly Pick<AppKeyRow, 'stage'>[]): Signing['state'] {
  const has = (stage: AppKey['stage']) => keys.some((key) => key.stage === stage)
  return has('next') ? 'prepared' : has('previous') ? 'switched' : 'settled'
}

/** Which key signs for an app, which keys are accepted, and how far a key change has got. */
export async function describeSigning(deps: Deps, app: App): Promise<Signing> {
  const rows = await AppKey.list(deps.db, app.id)
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
  return signingKeyOf(deps.secretBox.open(secret_box, appSecretContext(app_id, version))).id
}
