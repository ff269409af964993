import { readFileSync } from 'node:fs'
import type { components } from '@gatehouse/sdk/admin'
import { parseMoment } from '../command-line/duration.ts'
import { Failure, messageOf } from '../command-line/exit-codes.ts'
import { choice, count, flagName, type Input, type Options, text, texts, toggle } from '../command-line/options.ts'
import { languages } from './mails.ts'

/** A backend that guards with permissions needs `roles`. The default of the service is `services`. */
export const permissionScopes = ['roles', 'services'] as const
export type PermissionScope = (typeof permissionScopes)[number]

/** The settings that `app create` and `app update` share. An empty value clears a setting. */
export const appSettings = {
  description: text('TEXT', 'Description of the app'),
  redirect: texts(
    'URL',
    'Allowed redirect URLs; a final * allows a prefix in mails and logins by a provider, but not for the sign-in page',
  ),
  pool: text('POOL', 'Home pool of users who register here', { completes: 'pools' }),
  readPool: texts('POOL', 'Additional pools whose users may sign in', { completes: 'pools' }),
  autoGrant: toggle('Give access to every user who registers'),
  autoGrantFollowsPolicy: toggle(
    'Grant only users who could register here by --sign-up and --email-domain, also those who come from other apps',
  ),
  org: text('ID', 'Organization that new users join', { completes: 'organizationIds' }),
  role: text('ROLE', 'Role of new users in that organization', { completes: 'roles' }),
  link: texts('CODE', 'Other apps that a new user also gets access to', { completes: 'apps' }),
  service: texts('SERVICE', 'Services whose permissions the tokens carry', { completes: 'services' }),
  overrideRole: texts('ROLE', 'Roles that a registration may ask for', { completes: 'roles' }),
  frontendUrl: text('URL', 'URL that links in mails lead to'),
  emailDomain: texts('DOMAIN', 'Domains whose addresses may register; *.corp.com allows subdomains'),
  authMethod: texts(
    'METHOD',
    'Methods to register or to link a login: password, magic_link, email_code, google, or the code of a provider',
  ),
  permissionScope: choice(
    permissionScopes,
    'Which permissions the tokens carry: those that the roles of the user hold, or all of the services',
  ),
  signUp: choice(['open', 'invitation', 'closed'], 'Who may register'),
  organizationSignUp: toggle('Let users create an organization when they register'),
  requireVerifiedEmail: toggle('Let in only users who have verified their e-mail address'),
  machineTokens: toggle('Let service accounts get tokens for the app'),
  singleSignOn: toggle('Let people who are signed in at the sign-in page enter without a page'),
  maxSignInAge: count('SECONDS', 'How long ago a person who enters through a browser may have signed in'),
  trustDays: count('DAYS', 'For how many days a browser may skip the second factor when its user chose so; 0 for never', 0),
  client: choice(
    ['public', 'confidential'],
    'Whether the app runs where nobody reads its secret, and so authenticates with a client secret',
  ),
  requireTwoFactor: choice(
    ['off', 'admins', 'everyone'],
    'Whose sign-in must have shown a second factor; admins are users with a global role besides base_user',
  ),
  requireTwoFactorFrom: text('TIME', 'From when on: 2027-01-31, 2027-01-31T18:00:00Z or 14d from now; empty for at once'),
  deviceGrant: toggle('Let devices without a browser sign people in who allow it at /device'),
  accent: text('COLOR', 'Color of buttons on pages and in mails, such as #2f6fde'),
  supportEmail: text('EMAIL', 'Where people get help; mails have it as the address for replies'),
  supportUrl: text('URL', 'Page where people get help'),
  termsUrl: text('URL', 'Page with the terms of use'),
  privacyUrl: text('URL', 'Page that says how personal data is handled'),
  fromName: text('NAME', 'Sender that mails show; by default the name of the app'),
  language: text('LANGUAGE', 'Language of pages and mails for people of whom no other is known', { completes: languages }),
  logo: text('FILE', 'Logo on pages and in mails: PNG, JPEG or WebP, at most 256 KiB and 1,024 pixels a side'),
  webhookFile: text('FILE', 'JSON list of webhooks: [{name, url, events, secret}]'),
} satisfies Options

type AppSettings = components['schemas']['UpdateApp']

/** The setting of the app that each option sets. */
const members = {
  name: 'name',
  description: 'description',
  redirect: 'allowed_redirect_urls',
  pool: 'registration_namespace',
  readPool: 'read_namespaces',
  autoGrant: 'auto_grant_on_signup',
  autoGrantFollowsPolicy: 'auto_grant_follows_policy',
  org: 'default_organization_id',
  role: 'default_role_code',
  link: 'linked_app_codes',
  service: 'service_codes',
  overrideRole: 'override_role_codes',
  frontendUrl: 'frontend_url',
  emailDomain: 'allowed_email_domains',
  authMethod: 'allowed_auth_methods',
  permissionScope: 'permission_scope',
  signUp: 'sign_up',
  organizationSignUp: 'organization_sign_up',
  requireVerifiedEmail: 'require_verified_email',
  machineTokens: 'machine_tokens',
  singleSignOn: 'single_sign_on',
  maxSignInAge: 'max_sign_in_age_seconds',
  trustDays: 'trust_device_days',
  client: 'client',
  deviceGrant: 'device_grant',
  requireTwoFactor: 'require_two_factor',
  requireTwoFactorFrom: 'require_two_factor_from',
} as const satisfies Partial<Record<keyof typeof appSettings | 'name', keyof AppSettings>>

/** The member of `brand` that each option sets. */
const brandMembers = {
  accent: 'accent_color',
  supportEmail: 'support_email',
  supportUrl: 'support_url',
  termsUrl: 'terms_url',
  privacyUrl: 'privacy_url',
  fromName: 'from_name',
  language: 'default_language',
} as const satisfies Partial<Record<keyof typeof appSettings, keyof NonNullable<AppSettings['brand']>>>

const optionOf = new Map<string, string>(
  Object.entries({ ...members, ...brandMembers }).map(([option, member]) => [member, option]),
)

/** The body for the service. Holds only the settings that were given. */
export function appBody(
  settings: Partial<Input<typeof appSettings>> & { name?: string | undefined },
  now: () => number = Date.now,
): AppSettings {
  const { requireTwoFactorFrom: from } = settings
  const input = from ? { ...settings, requireTwoFactorFrom: parseStart(from, now()) } : settings
  const values: Record<string, unknown> = input
  const given = Object.entries(members).map(([option, member]) => [member, values[option]])
  const brand = Object.entries(brandMembers).flatMap(([option, member]) => {
    const value = values[option]
    return value === undefined ? [] : [[member, value]]
  })
  const webhooks = input.webhookFile === undefined ? undefined : readWebhooks(input.webhookFile)
  return Object.fromEntries(
    [...given, ['brand', brand.length > 0 ? Object.fromEntries(brand) : undefined], ['webhooks', webhooks]].filter(
      ([, value]) => value !== undefined,
    ),
  )
}

function parseStart(text: string, now: number): string {
  const moment = parseMoment(text, now)
  if (moment !== undefined) return moment
  throw new Failure('invalid', `--require-two-factor-from ${text} is not a valid time`, {
    code: 'invalid_time',
    hint: 'such as 2027-01-31, 2027-01-31T18:00:00Z or 14d',
  })
}

/** The flags that give an app these settings; undefined if one has no flag. */
export function appFlags({ brand, ...settings }: Record<string, unknown>): string[] | undefined {
  const ofBrand: Record<string, unknown> = { ...(isObject(brand) ? brand : undefined) }
  const flags = Object.entries({ ...settings, ...ofBrand }).map(([member, value]) => {
    const option = optionOf.get(member)
    return option === undefined ? undefined : flagWith(flagName(option), value)
  })
  return flags.every((words) => words !== undefined) ? flags.flat() : undefined
}

/** A call that writes an app. A failure names the flags that set the members which the service refuses. */
export async function inFlags<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown
    const { ending, code, hint, requestId, errors } = thrown
    throw new Failure(ending, flagsFor(thrown.message), { code, hint, requestId, errors, cause: thrown })
  }
}

/** `allowed_redirect_urls.1: must be a URL` → `--redirect: must be a URL`. */
function flagsFor(message: string): string {
  return message.replace(/(?<=^|; )(\w+)(?:\.(\w+))?(?:\.\w+)*(?=: )/g, (path, member: string, inner?: string) => {
    const files: Record<string, string> = { webhooks: 'webhookFile', logo: 'logo' }
    const option = files[member] ?? optionOf.get(member === 'brand' && inner !== undefined ? inner : member)
    return option === undefined ? path : `--${flagName(option)}`
  })
}

/** What the default of the service means for a backend. */
export const allPermissionsNote =
  'its tokens carry every permission of its services; --permission-scope roles limits them to those that the roles of a user hold'

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function flagWith(name: string, value: unknown): string[] {
  if (typeof value === 'boolean') return [value ? `--${name}` : `--no-${name}`]
  const words = [value ?? ''].flat().map(String)
  return [`--${name}`, ...(words.length === 0 ? [''] : words)]
}

function readWebhooks(file: string): AppSettings['webhooks'] {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new Failure('invalid', `cannot read the webhooks in ${file}: ${messageOf(error)}`, { code: 'file_unreadable' })
  }
}

/** Whether two records of an app are equal, apart from `updated_at` and `warnings`. */
export function isSameApp(one: components['schemas']['App'], other: components['schemas']['App']): boolean {
  const lasting = (app: object) => JSON.stringify({ ...app, updated_at: '', warnings: undefined })
  return lasting(one) === lasting(other)
}
