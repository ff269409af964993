import { domainToASCII } from 'node:url'
import type { components } from '../api-types.ts'
import {
  appCode,
  entries,
  type Fields,
  flag,
  listOf,
  mostPermissions,
  name,
  oneOf,
  permissionCode,
  plainCode,
  redirectUrl,
  serviceCode,
  setOf,
  text,
  textOf,
  webhookSecret,
  webUrl,
} from './read-field.ts'

type App = components['schemas']['App']
type Role = components['schemas']['Role']
type Webhook = App['webhooks'][number]

export interface DeclaredPermission {
  code: string
  name: string
}

export interface DeclaredService {
  service: string
  /** By code. */
  permissions: DeclaredPermission[]
}

export interface DeclaredRole extends Pick<Role, 'code' | 'name' | 'scope' | 'description'> {
  /** Codes, sorted. None for `super_admin`, which holds all without being given any. */
  permissions: string[]
}

export interface DeclaredWebhook extends Omit<Webhook, 'has_secret'> {
  /** Undefined keeps what the service has, null clears it. */
  secret: string | null | undefined
}

/** All of an app that is the same on another installation. */
export interface DeclaredApp
  extends Omit<App, 'id' | 'built_in' | 'created_at' | 'updated_at' | 'default_organization_id' | 'webhooks'> {
  default_organization_slug: string | null
  webhooks: DeclaredWebhook[]
}

/** What a file of `export`, `diff` and `apply` says: each entry whole. What is said of a section that is not there is nothing. */
export interface Declaration {
  services?: DeclaredService[]
  roles?: DeclaredRole[]
  apps?: DeclaredApp[]
}

export type Entry = DeclaredService | DeclaredRole | DeclaredApp

/** What names an entry in its section. */
export function nameOf(entry: Entry): string {
  return 'service' in entry ? entry.service : entry.code
}

/** Belongs to the service itself: registered by nobody. */
export const builtInService = 'core'
/** Belongs to this program: closed and unlinked, whatever a file says. */
export const builtInApp = 'authctl'
/** Holds every permission, so that its list cannot be changed. */
export const holderOfAll = 'super_admin'

const none = () => null
const empty = () => []

const permissionFields: Fields<DeclaredPermission> = { code: { read: permissionCode }, name: { read: name } }

const serviceFields: Fields<DeclaredService> = {
  service: { read: serviceCode },
  permissions: { read: entries(permissionFields, mostPermissions), standard: empty },
}

const roleFields: Fields<DeclaredRole> = {
  code: { read: plainCode },
  name: { read: name },
  scope: { read: oneOf('global', 'org'), standard: () => 'global' },
  description: { read: text, standard: none },
  permissions: { read: setOf(permissionCode, mostPermissions), standard: empty },
}

const webhookFields: Fields<DeclaredWebhook> = {
  name: { read: name },
  url: { read: webUrl },
  events: { read: listOf(oneOf('user.registered'), 10), standard: () => ['user.registered'] },
  enabled: { read: flag, standard: () => true },
  secret: { read: webhookSecret, standard: () => undefined, takesNull: true },
}

const appFields: Fields<DeclaredApp> = {
  code: { read: appCode },
  name: { read: name },
  description: { read: text, standard: none },
  status: { read: oneOf('active', 'inactive'), standard: () => 'active' },
  sign_up: { read: oneOf('open', 'invitation', 'closed'), standard: () => 'open' },
  auto_grant_on_signup: { read: flag, standard: () => false },
  allowed_redirect_urls: { read: listOf(redirectUrl), standard: empty },
  frontend_url: {
    read: (given, path, fault) => webUrl(given, path, fault).replace(/\/+$/, ''),
    standard: none,
  },
  registration_namespace: { read: plainCode, standard: () => 'default' },
  read_namespaces: { read: setOf(plainCode), standard: empty },
  default_organization_slug: { read: text, standard: none },
  default_role_code: {
    read: plainCode,
    standard: ({ default_organization_slug }) => (default_organization_slug === null ? null : 'org_member'),
  },
  override_role_codes: { read: setOf(plainCode), standard: empty },
  linked_app_codes: { read: setOf(appCode), standard: empty },
  service_codes: { read: setOf(serviceCode), standard: ({ code }) => [code as string] },
  permission_scope: { read: oneOf('services', 'roles'), standard: () => 'services' },
  allowed_email_domains: {
    read: setOf((given, path, fault) => normalizeDomain(text(given, path, fault))),
    standard: empty,
  },
  // Which methods there are is the service's to say.
  allowed_auth_methods: { read: setOf(textOf(100)), standard: empty },
  webhooks: { read: entries(webhookFields), standard: empty },
}

/** The sections in the order in which one refers to those before it. */
export const sections = {
  services: { kind: 'service', fields: serviceFields as Fields<Entry> },
  roles: { kind: 'role', fields: roleFields as Fields<Entry> },
  apps: { kind: 'app', fields: appFields as Fields<Entry> },
} as const

export type Section = keyof typeof sections
export type Kind = (typeof sections)[Section]['kind']

/** Fields within a section that are themselves lists of entries. */
export const nestedFields: Record<string, Fields<never>> = { webhooks: webhookFields as Fields<never> }

/** As the service writes domains, so that one spelled otherwise is no difference. */
function normalizeDomain(raw: string): string {
  const lower = raw.trim().normalize('NFKC').toLowerCase()
  const wildcard = lower.startsWith('*.') ? '*.' : ''
  const domain = lower.slice(wildcard.length)
  return /[^\x20-\x7e]/.test(domain) ? wildcard + domainToASCII(domain) : lower
}

/** In the order of code units, which is the same everywhere. */
export function byName<T>(list: readonly T[], name: (entry: T) => string): T[] {
  return [...list].sort((one, other) => (name(one) < name(other) ? -1 : 1))
}
