import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { SsoProvider } from '../../models/sso-provider.ts'
import { UserIdentity } from '../../models/user-identity.ts'
import { recordEvent } from '../audit/record-event.ts'
import { getProviderForUpdate } from './get-provider.ts'
import { presentProvider } from './present.ts'

/**
 * Deletes a provider. If users are linked with it, this needs `force`, which unlinks them; their sessions go on. To close it for
 * a while, disable it. Throws `not_found`, `sso_provider_in_use`.
 */
export async function deleteProvider(deps: Deps<Pool>, code: string, { force }: { force: boolean }, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    const provider = await getProviderForUpdate(deps, code)
    if (!force && (await UserIdentity.isLinked(deps.db, provider.id)))
      throw new ApiError('sso_provider_in_use', { detail: 'Disable it, or delete it with ?force=true, which unlinks its users' })
    const unlinked = await UserIdentity.deleteOfProvider(deps.db, provider.id)
    await SsoProvider.delete(deps.db, provider.id)
    const details = { before: presentProvider(provider, deps.config.publicUrl), after: null, unlinked }
    await recordEvent(deps, { event: 'sso_provider.deleted', actor, details })
  })
}
