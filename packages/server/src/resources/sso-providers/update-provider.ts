import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, refuseChanged } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { changedMembers, type SentBack } from '../../lib/sent-back.ts'
import { SsoProvider } from '../../models/sso-provider.ts'
import { UserIdentity } from '../../models/user-identity.ts'
import { recordEvent } from '../audit/record-event.ts'
import { getProviderForUpdate } from './get-provider.ts'
import { presentProvider } from './present.ts'
import { resolveProviderChanges } from './resolve-provider-changes.ts'
import type { UpdateProviderInput } from './schema.ts'

/**
 * Changes a provider. The issuer can change only while no user is linked: another issuer could give a user's subject to anyone.
 * Throws `code_immutable`, `not_found`, `sso_provider_in_use`, `validation_failed`.
 */
export async function updateProvider(
  deps: Deps<Pool>,
  providerCode: string,
  input: UpdateProviderInput,
  sentBack: SentBack,
  actor: Actor,
): Promise<SsoProvider> {
  return transaction(deps, async (deps) => {
    const before = await getProviderForUpdate(deps, providerCode)
    const { publicUrl } = deps.config
    refuseChanged(changedMembers(sentBack, presentProvider(before, publicUrl)))
    if (input.issuer !== undefined && input.issuer !== before.issuer && (await UserIdentity.isLinked(deps.db, before.id)))
      throw new ApiError('sso_provider_in_use', { detail: 'Users are linked to subjects of the current issuer' })
    const changes = { ...resolveProviderChanges(deps, before.id, input), updated_at: deps.clock() }
    const after = await SsoProvider.update(deps.db, before.id, changes)
    const details = {
      before: presentProvider(before, publicUrl),
      after: presentProvider(after, publicUrl),
      client_secret_changed: input.client_secret !== undefined,
    }
    await recordEvent(deps, { event: 'sso_provider.updated', actor, details })
    return after
  })
}
