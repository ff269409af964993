import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError, refuseChanged } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { changedMembers, type SentBack } from '../../lib/sent-back.ts'
import { isUniqueViolation } from '../../lib/unique-violation.ts'
import { newId } from '../../lib/uuid.ts'
import { SsoProvider } from '../../models/sso-provider.ts'
import { UserIdentity } from '../../models/user-identity.ts'
import { recordEvent } from '../audit/record-event.ts'
import { clientSecretContext, getProviderForUpdate } from './get-provider.ts'
import { presentProvider } from './present.ts'
import type { CreateProviderInput, UpdateProviderInput } from './schema.ts'

/** A new provider lets no user in until an admin names the apps that it serves. It is trusted in no e-mail domain by default. */
const blankSettings = {
  scopes: ['openid', 'email', 'profile'],
  app_codes: [],
  trusted_email_domains: [],
  trusted_for_two_factor: false,
  enabled: true,
}

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

type ProviderSettings = Pick<
  SsoProvider,
  | 'issuer'
  | 'client_id'
  | 'client_secret_box'
  | 'scopes'
  | 'app_codes'
  | 'trusted_email_domains'
  | 'trusted_for_two_factor'
  | 'enabled'
>

/** The columns that an input sets in a provider. Throws `validation_failed` for an issuer without https in production. */
export function resolveProviderChanges(
  deps: Deps,
  id: string,
  input: Omit<UpdateProviderInput, 'code'>,
): Partial<ProviderSettings> {
  const { issuer, client_id, client_secret, scopes, app_codes, trusted_email_domains, trusted_for_two_factor, enabled } = input
  if (issuer !== undefined && deps.config.production && !/^https:/i.test(issuer))
    throw fieldError('issuer', 'invalid_value', 'must be https in production')
  return {
    ...(issuer === undefined ? {} : { issuer }),
    ...(client_id === undefined ? {} : { client_id }),
    ...(client_secret === undefined ? {} : { client_secret_box: deps.secretBox.seal(client_secret, clientSecretContext(id)) }),
    ...(scopes === undefined ? {} : { scopes: [...new Set(['openid', ...scopes])] }),
    ...(app_codes === undefined ? {} : { app_codes: [...new Set(app_codes)] }),
    ...(trusted_email_domains === undefined ? {} : { trusted_email_domains: [...new Set(trusted_email_domains)] }),
    ...(trusted_for_two_factor === undefined ? {} : { trusted_for_two_factor }),
    ...(enabled === undefined ? {} : { enabled }),
  }
}

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

const google = 'https://accounts.google.com'

/** The known issuers, by the code of their provider. */
export const presetIssuers: Record<string, string> = { google }

/** Whether a provider is the preset `google`. Another issuer may use that code too. */
export function isGooglePreset({ code, issuer }: Pick<SsoProvider, 'code' | 'issuer'>): boolean {
  return code === 'google' && issuer === google
}
