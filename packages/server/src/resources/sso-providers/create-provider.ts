import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { isUniqueViolation } from '../../lib/unique-violation.ts'
import { newId } from '../../lib/uuid.ts'
import { SsoProvider } from '../../models/sso-provider.ts'
import { recordEvent } from '../audit/record-event.ts'
import { presentProvider } from './present.ts'
import { presetIssuers } from './preset-issuers.ts'
import { resolveProviderChanges } from './resolve-provider-changes.ts'
import type { CreateProviderInput } from './schema.ts'

/** A new provider lets no user in until an admin names the apps that it serves. It is trusted in no e-mail domain by default. */
const blankSettings = { scopes: ['openid', 'email', 'profile'], app_codes: [], trusted_email_domains: [], enabled: true }

/** Creates a provider without a request to it, because it may be down. Throws `sso_provider_code_taken`, `validation_failed`. */
export async function createProvider(
  deps: Deps<Pool>,
  { code, ...input }: CreateProviderInput,
  actor: Actor,
): Promise<SsoProvider> {
  const issuer = input.issuer ?? presetIssuers[code]
  if (issuer === undefined) throw fieldError('issuer', 'required', 'is required')
  const now = deps.clock()
  const id = newId(now)
  const settings = resolveProviderChanges(deps, id, { ...blankSettings, ...input, issuer })
  try {
    return await transaction(deps, async (deps) => {
      const row = { id, code, ...settings, created_at: now, updated_at: now }
      const provider = await SsoProvider.insert(deps.db, row)
      const details = { before: null, after: presentProvider(provider, deps.config.publicUrl) }
      await recordEvent(deps, { event: 'sso_provider.created', actor, details })
      return provider
    })
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw new ApiError('sso_provider_code_taken', { detail: `Another provider has the code ${code}`, cause: error })
  }
}
