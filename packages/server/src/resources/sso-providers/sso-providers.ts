import { z } from 'zod'
import type { ProviderClient } from '../../adapters/provider-clients.ts'
import type { Pool, Tx } from '../../db/handle.ts'
import { forUpdate, keptFromDeletion } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError, refuseChanged, refuseTaken } from '../../errors.ts'
import { reservedProviderCodes } from '../../lib/auth-methods.ts'
import type { Actor } from '../../lib/caller.ts'
import { definedIn } from '../../lib/collections.ts'
import {
  appCodeOrAll,
  authMethodCode,
  domainOrAll,
  id,
  list,
  MAX_TEXT,
  page,
  queryFlag,
  text,
  timestamp,
  webUrl,
} from '../../lib/fields.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { present } from '../../lib/records.ts'
import { changedMembers, type SentBack } from '../../lib/sent-back.ts'
import { newId } from '../../lib/uuid.ts'
import type { App } from '../../models/app.ts'
import { withPage } from '../../models/list-query.ts'
import { SsoProvider } from '../../models/sso-provider.ts'
import { UserIdentity } from '../../models/user-identity.ts'
import { recordEvent } from '../audit/record-event.ts'

const issuer = webUrl.refine((url) => !/[?#]/.test(url), 'must have no query and no fragment')
const scope = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be one scope, without spaces')
const secret = z.string().min(1).max(MAX_TEXT).meta({ format: 'password', description: 'Write-only' })
const scopes = list(scope).meta({ description: 'Default: `openid email profile`. `openid` is always included' })
const appCodes = list(appCodeOrAll).meta({ description: 'The apps that its users may sign in to. `*`: every app. Default: none' })
const trustedEmailDomains = list(domainOrAll).meta({
  description:
    'The domains whose addresses count as verified here if the provider has verified them. `*`: every domain. Default: none. ' +
    '`google` is also trusted for `gmail.com` and for the domain in `hd`',
})

const trustedForTwoFactor = z
  .boolean()
  .optional()
  .meta({
    description:
      'Whether a sign-in there is enough for apps with `require_two_factor`, of users who own no second factor here. Never for apps ' +
      'that administer this service. Default: false',
  })

export const createProviderBody = z
  .strictObject({
    code: authMethodCode
      .refine((code) => !reservedProviderCodes.includes(code), 'is the name of another method')
      .meta({ description: 'Names the provider in URLs and in `allowed_auth_methods`. Never changes' }),
    issuer: issuer.optional().meta({ description: 'Base URL of `/.well-known/openid-configuration`. Not needed for `google`' }),
    client_id: text.min(1),
    client_secret: secret,
    scopes: scopes.optional(),
    app_codes: appCodes.optional(),
    trusted_email_domains: trustedEmailDomains.optional(),
    trusted_for_two_factor: trustedForTwoFactor,
    enabled: z.boolean().optional().meta({ description: 'Default: true' }),
  })
  .meta({ id: 'CreateSsoProvider' })
type CreateProviderInput = z.output<typeof createProviderBody>

export const updateProviderBody = createProviderBody
  .omit({ code: true })
  .partial()
  .extend({
    issuer: issuer.optional().meta({ description: 'Only accepted while no user is linked' }),
    enabled: z.boolean().optional(),
  })
  .meta({ id: 'UpdateSsoProvider' })
type UpdateProviderInput = z.output<typeof updateProviderBody>

export const deleteProviderQuery = z.strictObject({
  force: queryFlag.optional().meta({ description: 'Also unlink its users' }),
})

export const providerRecord = z
  .object({
    id,
    code: z.string(),
    issuer: z.string(),
    client_id: z.string(),
    has_client_secret: z.boolean(),
    scopes: z.array(z.string()),
    app_codes: z.array(z.string()),
    trusted_email_domains: z.array(z.string()),
    trusted_for_two_factor: z.boolean(),
    enabled: z.boolean(),
    callback_url: z.string().meta({ description: 'The redirect URI to register at the provider' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'SsoProvider' })

export const providerPage = page(providerRecord)

/** Throws `not_found`. */
export async function getProvider(deps: Deps, code: string): Promise<SsoProvider> {
  return found(await SsoProvider.find(deps.db, { code }))
}

/** Gets the provider and locks it until the transaction ends. No user can be linked with it meanwhile. */
async function getProviderForUpdate(deps: Deps<Tx>, code: string): Promise<SsoProvider> {
  return found(await forUpdate(deps.db, SsoProvider.find(deps.db, { code })))
}

/** A provider that users may sign in with. Throws `not_found`, `sso_provider_disabled`. */
export async function getEnabledProvider(deps: Deps, code: string): Promise<SsoProvider> {
  return enabled(await getProvider(deps, code))
}

/** An enabled provider by id. Undefined if it does not exist. Throws `sso_provider_disabled`. */
export async function findEnabledProvider(deps: Deps, id: string): Promise<SsoProvider | undefined> {
  const provider = await SsoProvider.query(deps.db).findById(id)
  return provider && enabled(provider)
}

/** Gets the provider, and keeps it unchanged until the transaction ends. */
export async function findKeptProvider(deps: Deps<Tx>, id: string): Promise<SsoProvider | undefined> {
  const provider = await keptFromDeletion(deps.db, SsoProvider.query(deps.db).findById(id))
  return provider && enabled(provider)
}

/** The providers that users may sign in to the app with. */
export async function listProvidersOf(deps: Deps, app: Pick<App, 'code'>): Promise<SsoProvider[]> {
  const providers = await SsoProvider.list(deps.db, { enabled: true }).orderBy('code')
  return providers.filter((provider) => serves(provider, app))
}

function serves({ app_codes: codes }: SsoProvider, app: Pick<App, 'code'>): boolean {
  return codes.includes('*') || codes.includes(app.code)
}

/** Throws `auth_method_not_allowed` if the provider does not serve the app. */
export function assertServesApp(provider: SsoProvider, app: Pick<App, 'code'>): void {
  if (!serves(provider, app))
    throw new ApiError('auth_method_not_allowed', { detail: 'This provider is not set up for this app' })
}

function found(provider: SsoProvider | undefined): SsoProvider {
  if (!provider) throw new ApiError('not_found', { detail: 'No provider has this code' })
  return provider
}

function enabled(provider: SsoProvider): SsoProvider {
  if (!provider.enabled) throw new ApiError('sso_provider_disabled')
  return provider
}

/** This service as a client of the provider. */
export function providerClientOf(deps: Deps, provider: SsoProvider): ProviderClient {
  return {
    issuer: provider.issuer,
    clientId: provider.client_id,
    clientSecret: deps.secretBox.open(provider.client_secret_box, clientSecretContext(provider.id)),
  }
}

/** The context that binds a sealed client secret to its provider. */
function clientSecretContext(providerId: string): string {
  return `sso_providers/${providerId}/client_secret`
}

/** Providers, newest first. */
export async function listProviders(deps: Deps, request: PageRequest): Promise<Page<SsoProvider>> {
  return withPage(SsoProvider.query(deps.db), request, 'sso_providers.id')
}

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
  return transaction(deps, async (deps) => {
    const row = { id, code, ...settings, created_at: now, updated_at: now }
    const provider = await SsoProvider.query(deps.db).insertAndFetch(row)
    const details = { before: null, after: presentProvider(provider, deps.config.publicUrl) }
    await recordEvent(deps, { event: 'sso_provider.created', actor, details })
    return provider
  }).catch(refuseTaken('sso_provider_code_taken', `Another provider has the code ${code}`))
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
    if (input.issuer !== undefined && input.issuer !== before.issuer && (await isLinked(deps, before)))
      throw new ApiError('sso_provider_in_use', { detail: 'Users are linked to subjects of the current issuer' })
    const changes = { ...resolveProviderChanges(deps, before.id, input), updated_at: deps.clock() }
    const after = await SsoProvider.query(deps.db).patchAndFetchById(before.id, changes)
    const details = {
      before: presentProvider(before, publicUrl),
      after: presentProvider(after, publicUrl),
      client_secret_changed: input.client_secret !== undefined,
    }
    await recordEvent(deps, { event: 'sso_provider.updated', actor, details })
    return after
  })
}

/** Whether any user is linked with the provider. */
async function isLinked(deps: Deps, { id }: SsoProvider): Promise<boolean> {
  return (await UserIdentity.list(deps.db, { provider_id: id }).select('id').limit(1)).length > 0
}

/** The columns that an input sets in a provider. Throws `validation_failed` for an issuer without https in production. */
function resolveProviderChanges(deps: Deps, id: string, input: UpdateProviderInput) {
  const { client_secret: secret, scopes, app_codes, trusted_email_domains, ...others } = definedIn(input)
  if (others.issuer !== undefined && deps.config.production && !/^https:/i.test(others.issuer))
    throw fieldError('issuer', 'invalid_value', 'must be https in production')
  return {
    ...others,
    ...(secret && { client_secret_box: deps.secretBox.seal(secret, clientSecretContext(id)) }),
    ...(scopes && { scopes: [...new Set(['openid', ...scopes])] }),
    ...(app_codes && { app_codes: [...new Set(app_codes)] }),
    ...(trusted_email_domains && { trusted_email_domains: [...new Set(trusted_email_domains)] }),
  }
}

/**
 * Deletes a provider. If users are linked with it, this needs `force`, which unlinks them; their sessions go on. To close it for
 * a while, disable it. Throws `not_found`, `sso_provider_in_use`.
 */
export async function deleteProvider(deps: Deps<Pool>, code: string, { force }: { force: boolean }, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    const provider = await getProviderForUpdate(deps, code)
    if (!force && (await isLinked(deps, provider)))
      throw new ApiError('sso_provider_in_use', { detail: 'Disable it, or delete it with ?force=true, which unlinks its users' })
    const unlinked = await UserIdentity.remove(deps.db, { provider_id: provider.id })
    await SsoProvider.query(deps.db).deleteById(provider.id)
    const details = { before: presentProvider(provider, deps.config.publicUrl), after: null, unlinked }
    await recordEvent(deps, { event: 'sso_provider.deleted', actor, details })
  })
}

const google = 'https://accounts.google.com'

/** The known issuers, by the code of their provider. */
const presetIssuers: Record<string, string> = { google }

/** Whether a provider is the preset `google`. Another issuer may use that code too. */
export function isGooglePreset({ code, issuer }: Pick<SsoProvider, 'code' | 'issuer'>): boolean {
  return code === 'google' && issuer === google
}

/** Where a provider sends browsers back to. Each provider has a different path, so one's answer cannot pass for another's. */
export function callbackUrlOf(publicUrl: string, code: string): string {
  return `${publicUrl}/api/v1/auth/sso/${code}/callback`
}

/** A provider as every answer and audit event shows one: its secret is never read back. */
export function presentProvider(provider: SsoProvider, publicUrl: string): z.output<typeof providerRecord> {
  const callback_url = callbackUrlOf(publicUrl, provider.code)
  return present(providerRecord, { ...provider, has_client_secret: true, callback_url })
}
