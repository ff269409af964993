import type { z } from 'zod'
import type { Tx } from '../../db/handle.ts'
import { keptFromDeletion } from '../../db/locks.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import { builtInAuthMethods, canRegister } from '../../lib/auth-methods.ts'
import { definedIn, keysOf } from '../../lib/collections.ts'
import { isEmailDomainAllowed } from '../../lib/email.ts'
import { DEFAULT_POOL, poolSet } from '../../lib/pool-set.ts'
import { webhookKey } from '../../lib/webhook.ts'
import { App, type AppColumns, type StoredWebhook } from '../../models/app.ts'
import { Organization } from '../../models/organization.ts'
import { Role } from '../../models/role.ts'
import { SsoProvider } from '../../models/sso-provider.ts'
import { type TokenSizeWarning, warnOfTokenSize } from '../catalog/catalog.ts'
import { type CollisionWarning, warnOfCollisions } from '../pools/pools.ts'
import { membershipRoleOf } from './present.ts'
import type { AppInput, bypassWarning, lostSecretWarning, prefixesWarning } from './schema.ts'

/** A new app before any setting is given. */
export function blankApp(id: string, code: string): AppColumns {
  return {
    id,
    code,
    name: code,
    description: null,
    status: 'active',
    built_in: false,
    allowed_redirect_urls: [],
    service_codes: [code],
    auto_grant_on_signup: false,
    auto_grant_follows_policy: false,
    registration_namespace: DEFAULT_POOL,
    read_namespaces: [],
    default_organization_id: null,
    default_role_code: null,
    linked_app_codes: [],
    override_role_codes: [],
    frontend_url: null,
    allowed_email_domains: [],
    allowed_auth_methods: [],
    webhooks: [],
    permission_scope: 'services',
    signing: 'shared',
    sign_up: 'open',
    organization_sign_up: true,
    require_verified_email: false,
    machine_tokens: false,
    single_sign_on: true,
    max_sign_in_age_seconds: null,
    trust_device_days: 0,
    client: 'public',
    device_grant: false,
    require_two_factor: 'off',
    require_two_factor_from: null,
    brand: {},
    logo: null,
    min_iat: 0,
  }
}

/**
 * Works out which columns of an app the input changes. The rules apply to the merged record, so a PATCH cannot bring about what a
 * POST would be refused. Throws `validation_failed`, `built_in`.
 */
export async function resolveAppChanges(deps: Deps<Tx>, current: AppColumns, input: AppInput): Promise<Partial<AppColumns>> {
  const blank = blankApp(current.id, current.code)
  const changes: Partial<AppColumns> = {}
  for (const field of keysOf(input)) {
    const value = input[field]
    if (value === undefined || field === 'webhooks' || field === 'brand' || field === 'logo_path') continue
    // Clearing a setting restores the value that it has in a new app.
    Object.assign(changes, { [field]: value ?? blank[field] })
  }
  for (const field of [
    'service_codes',
    'read_namespaces',
    'linked_app_codes',
    'override_role_codes',
    'allowed_email_domains',
    'allowed_auth_methods',
  ] as const) {
    if (changes[field]) changes[field] = [...new Set(changes[field])]
  }
  if (changes.frontend_url) changes.frontend_url = changes.frontend_url.replace(/\/+$/, '')
  if (input.webhooks !== undefined) changes.webhooks = resolveWebhooks(deps, current, input.webhooks ?? [])
  if (input.brand !== undefined) changes.brand = input.brand === null ? {} : { ...current.brand, ...definedIn(input.brand) }
  if (input.default_organization_id === null && input.default_role_code == null) changes.default_role_code = null

  const merged = { ...current, ...changes }
  assertBuiltInUnharmed(current, merged)
  if (deps.config.production && !current.built_in) assertRedirects(merged, input)
  if (changes.require_two_factor) assertCanEnrol(deps, changes.require_two_factor)
  if (changes.default_organization_id) await assertOrganizationExists(deps, changes.default_organization_id)
  await assertDefaultRole(deps, merged)
  // A list that was read can be sent back, even if a method of it is gone since.
  if (String(merged.allowed_auth_methods) !== String(current.allowed_auth_methods))
    await assertAuthMethods(deps, merged.allowed_auth_methods)
  if (changes.override_role_codes) await assertOrganizationRoles(deps, changes.override_role_codes)
  return changes
}

function assertBuiltInUnharmed(current: AppColumns, merged: AppColumns): void {
  if (!current.built_in) return
  if (merged.status !== 'active') throw new ApiError('built_in', { detail: `${current.code} cannot be deactivated` })
  if (merged.auto_grant_on_signup || merged.sign_up !== 'closed')
    throw new ApiError('built_in', { detail: `${current.code} stays closed to sign-up` })
  if (merged.client !== 'public')
    throw new ApiError('built_in', {
      detail: `${current.code} runs on the machines of its users, so it cannot keep a client secret`,
    })
  if (merged.machine_tokens) throw new ApiError('built_in', { detail: `${current.code} does not issue machine tokens` })
}

/** Checked only when the list is set or the app is activated: an app that lost its list can still be renamed and deactivated. */
function assertRedirects(merged: AppColumns, input: AppInput): void {
  if (input.allowed_redirect_urls === undefined && input.status !== 'active') return
  if (merged.allowed_redirect_urls.length === 0)
    throw fieldError('allowed_redirect_urls', 'required', 'must not be empty in production')
}

/** Where this service has no pages, nobody who lacks a second factor could ever set one up for the app. */
function assertCanEnrol({ config }: Deps, whose: AppColumns['require_two_factor']): void {
  if (whose !== 'off' && new URL(config.publicUrl).pathname !== '/')
    throw fieldError(
      'require_two_factor',
      'invalid_value',
      'needs the pages of this service, which are off because PUBLIC_URL has a path',
    )
}

async function assertOrganizationExists(deps: Deps, id: string): Promise<void> {
  if (!(await Organization.find(deps.db, { id }).select('id')))
    throw fieldError('default_organization_id', 'invalid_value', 'unknown organization')
}

async function assertDefaultRole(deps: Deps, merged: AppColumns): Promise<void> {
  if (merged.default_role_code === null) return
  if (membershipRoleOf(merged) === null) throw fieldError('default_role_code', 'invalid_value', 'needs default_organization_id')
  const role = await Role.find(deps.db, { code: merged.default_role_code })
  if (!role) throw fieldError('default_role_code', 'invalid_value', 'unknown role')
  if (role.scope !== 'org') throw fieldError('default_role_code', 'invalid_value', 'must be an org-scoped role')
}

/** A configured provider counts even if it is disabled. */
async function assertAuthMethods(deps: Deps, methods: readonly string[]): Promise<void> {
  const providers = await SsoProvider.query(deps.db)
    .whereIn('code', [...methods])
    .select('code')
  methods.forEach((method, index) => {
    if (!builtInAuthMethods.includes(method) && !providers.some(({ code }) => code === method))
      throw fieldError(
        `allowed_auth_methods.${index}`,
        'invalid_value',
        `must be ${builtInAuthMethods.join(', ')} or the code of a provider`,
      )
  })
  if (methods.length > 0 && !methods.some(canRegister))
    throw fieldError(
      'allowed_auth_methods',
      'invalid_value',
      'must name a method that can register a user: password, google or the code of a provider',
    )
}

async function assertOrganizationRoles(deps: Deps<Tx>, codes: readonly string[]): Promise<void> {
  // Keeps these roles from being deleted until the app names them, since no foreign key does.
  const named = Role.query(deps.db)
    .whereIn('code', [...codes])
    .where({ scope: 'org' })
  const known = (await keptFromDeletion(deps.db, named)).map(({ code }) => code)
  codes.forEach((code, index) => {
    if (!known.includes(code)) throw fieldError(`override_role_codes.${index}`, 'invalid_value', 'must be an org-scoped role')
  })
}

/** A webhook without `secret` keeps the stored secret of the webhook with the same name and URL; null clears it. */
function resolveWebhooks(deps: Deps, current: AppColumns, webhooks: NonNullable<AppInput['webhooks']>): StoredWebhook[] {
  const stored = new Map(current.webhooks.map((webhook) => [webhookKey(webhook), webhook.secret_box]))
  return webhooks.map(({ name, url, events, enabled, secret }) => {
    const kept = stored.get(webhookKey({ name, url })) ?? null
    const sealed = secret ? deps.secretBox.seal(secret, webhookSecretContext(current.id, name)) : null
    return { name, url, events, enabled, secret_box: secret === undefined ? kept : sealed }
  })
}

/** The context that binds the sealed secret of a webhook. */
export function webhookSecretContext(appId: string, webhookName: string): string {
  return `apps/${appId}/webhooks/${webhookName}`
}

type Policy = Pick<App, 'sign_up' | 'allowed_email_domains' | 'allowed_auth_methods' | 'organization_sign_up'>

/** Whether the app takes sign-ups, with or without an invitation. The invitation itself is checked elsewhere. */
export function takesSignUps({ sign_up }: Pick<App, 'sign_up'>, { isInvited }: { isInvited: boolean }): boolean {
  return sign_up === 'open' || (sign_up === 'invitation' && isInvited)
}

type GrantPolicy = Pick<App, 'auto_grant_on_signup' | 'auto_grant_follows_policy' | 'sign_up' | 'allowed_email_domains'>

/**
 * Whether a user without a grant gets one at the first entry. `isInvited`: the user is entering by an invitation, or did so at the
 * registration through this app.
 */
export function autoGrants(app: GrantPolicy, { email, isInvited }: { email: string; isInvited: boolean }): boolean {
  if (!app.auto_grant_on_signup || !app.auto_grant_follows_policy) return app.auto_grant_on_signup
  return takesSignUps(app, { isInvited }) && takesDomain(app, email)
}

function takesDomain({ allowed_email_domains: domains }: Pick<App, 'allowed_email_domains'>, email: string): boolean {
  return domains.length === 0 || isEmailDomainAllowed(email, domains)
}

/**
 * Checks the app's registration policy. Call it before the collision check and before any write. `founds` says whether the
 * registration would found an organization.
 * Throws `sign_up_closed`, `email_domain_not_allowed`, `auth_method_not_allowed`, `organization_sign_up_closed`.
 */
export function checkPolicy(app: Policy, input: { email: string; method: string; isInvited: boolean; founds?: boolean }): void {
  if (!takesSignUps(app, input)) {
    const isForInvited = app.sign_up === 'invitation'
    throw new ApiError(
      'sign_up_closed',
      isForInvited
        ? { detail: 'This app takes registrations only by the invitation of an admin, or of somebody who may enter it' }
        : {},
    )
  }
  if (!takesDomain(app, input.email)) throw new ApiError('email_domain_not_allowed')
  assertMethodAllowed(app, input.method)
  if (input.founds && !app.organization_sign_up) throw new ApiError('organization_sign_up_closed')
}

/**
 * Checks that a method may create an account, or be added to one, through this app. Users who have an account may sign in by any
 * method. Throws `auth_method_not_allowed`.
 */
export function assertMethodAllowed(app: Pick<App, 'allowed_auth_methods'>, method: string): void {
  if (!allowsMethod(app, method)) throw new ApiError('auth_method_not_allowed')
}

export function allowsMethod({ allowed_auth_methods: allowed }: Pick<App, 'allowed_auth_methods'>, method: string): boolean {
  return allowed.length === 0 || allowed.includes(method)
}

export type AppWarning =
  | CollisionWarning
  | TokenSizeWarning
  | z.output<typeof lostSecretWarning | typeof prefixesWarning>
  | BypassWarning

const admissionFields = [
  'status',
  'auto_grant_on_signup',
  'auto_grant_follows_policy',
  'sign_up',
  'allowed_email_domains',
  'registration_namespace',
  'read_namespaces',
] as const

/**
 * Warnings for the admin who set these settings of an app: e-mails that several users of its pools share, long tokens,
 * webhooks that lost their secret, redirect URLs that the sign-in page cannot use, and apps that admit users whom they would not
 * register. Refuses nothing.
 */
export async function listWarnings(
  deps: Deps,
  { before, after, input }: { before?: App; after: App; input: AppInput },
): Promise<AppWarning[]> {
  const isNew = before === undefined
  const setsPools = isNew || input.registration_namespace !== undefined || input.read_namespaces !== undefined
  const setsPermissions = isNew || input.service_codes !== undefined || input.permission_scope !== undefined
  return [
    ...(setsPools ? await warnOfCollisions(deps, poolSet(after)) : []),
    ...(setsPermissions ? await warnOfTokenSize(deps, ({ id }) => id === after.id) : []),
    ...(isNew || admissionFields.some((field) => input[field] !== undefined) ? await warnOfBypass(deps, after.id) : []),
    ...(input.allowed_redirect_urls ? warnOfPrefixes(after) : []),
    ...warnOfLostSecrets(before?.webhooks ?? [], input.webhooks ?? []),
  ]
}

/** The sign-in page compares a redirect URL character by character, so it uses no entry that ends in `*`. */
function warnOfPrefixes({ allowed_redirect_urls: urls }: App): z.output<typeof prefixesWarning>[] {
  if (urls.length === 0 || urls.some((url) => !url.endsWith('*'))) return []
  const message = 'all redirect URLs end in *, so the sign-in page cannot lead anybody to this app; add the exact URL'
  return [{ code: 'redirect_urls_prefixes_only' as const, message }]
}

/** Of webhooks with another name or URL that leave out their secret: the stored one belongs to the old name and URL. */
function warnOfLostSecrets(
  before: readonly StoredWebhook[],
  input: NonNullable<AppInput['webhooks']>,
): z.output<typeof lostSecretWarning>[] {
  const known = new Set(before.map(webhookKey))
  const kept = new Set(input.map(webhookKey))
  const lost = before.filter((webhook) => webhook.secret_box !== null && !kept.has(webhookKey(webhook)))
  return input
    .filter((webhook) => webhook.secret === undefined && !known.has(webhookKey(webhook)))
    .flatMap(({ name, url }) => {
      const renamed = lost.find((webhook) => webhook.url === url)
      const message = lost.some((webhook) => webhook.name === name)
        ? `deliveries of ${name} to its new URL are not signed: the stored secret belongs to the old URL`
        : renamed && `deliveries of ${name} are not signed: the stored secret belongs to its old name, ${renamed.name}`
      return message === undefined ? [] : [{ code: 'webhook_secret_lost' as const, webhook: name, message }]
    })
}

export type BypassWarning = z.output<typeof bypassWarning>

const mostNamed = 20

/**
 * Warns of apps that restrict who may register, but grant access automatically to users whom another app of their pools registers.
 * Warns only if the app with this id is the one or the other.
 */
export async function warnOfBypass(deps: Deps, appId: string): Promise<BypassWarning[]> {
  const apps = await App.list(deps.db, { status: 'active', built_in: false })
    .orderBy('code')
    .select('id', 'code', 'auto_grant_on_signup', 'registration_namespace', 'read_namespaces')
    .select('auto_grant_follows_policy', 'sign_up', 'allowed_email_domains')
  const open = apps.filter(({ sign_up }) => sign_up === 'open')
  return apps.filter(isGrantedBeyondPolicy).flatMap((app) => {
    const through = open.filter(
      (other) => other.id !== app.id && [app.id, other.id].includes(appId) && sharesPool(app, other) && takesMore(other, app),
    )
    if (through.length === 0) return []
    const codes = through.map(({ code }) => code).slice(0, mostNamed)
    const message =
      `${app.code} admits users whom its own sign_up or allowed_email_domains would refuse: they register through ` +
      `${codes.join(', ')}, which shares a pool with it. auto_grant_follows_policy keeps them out`
    return [{ code: 'policy_bypassed' as const, app: app.code, through: codes, message }]
  })
}

function isGrantedBeyondPolicy(app: App): boolean {
  const isRestricted = app.sign_up !== 'open' || app.allowed_email_domains.length > 0
  return app.auto_grant_on_signup && !app.auto_grant_follows_policy && isRestricted
}

/** A new user is in every pool of the app. */
function sharesPool(one: App, other: App): boolean {
  return poolSet(one).some((pool) => poolSet(other).includes(pool))
}

function takesMore(other: App, app: App): boolean {
  if (app.sign_up !== 'open' || other.allowed_email_domains.length === 0) return true
  return other.allowed_email_domains.some((domain) => !app.allowed_email_domains.includes(domain))
}
