import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { signingKeyOf } from '../../lib/keyrings.ts'
import { AppKey } from '../../models/app-key.ts'
import { recordEvent } from '../audit/record-event.ts'
import { appSecretContext } from '../catalog/read-keyrings.ts'
import { getKeptApp } from './get-app.ts'

export interface AppSecret {
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
    const keys = (await AppKey.list(deps.db, app.id)).flatMap(({ secret_box, ...key }) =>
      secret_box === null ? [] : [{ ...key, secret_box }],
    )
    const newest = keys.at(-1)
    if (!newest)
      throw new ApiError('signing_step_impossible', {
        detail: `${app.code} has no secret of its own. Create one: authctl app signing ${app.code} --step prepare`,
      })
    const secret = deps.secretBox.open(newest.secret_box, appSecretContext(app.id, newest.version))
    const found = { secret, kid: signingKeyOf(secret).id, stage: newest.stage }
    await recordEvent(deps, {
      event: 'app.secret_read',
      actor,
      appId: app.id,
      details: { kid: found.kid, stage: found.stage },
    })
    return found
  })
}
