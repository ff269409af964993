import { z } from 'zod'
import { parseMoment } from '../command-line/duration.ts'
import { builtInOrganizationRoles, byName, type Kind } from './declaration.ts'
import { entry, flag, isObject, listOf, name, setOf, text } from './fields.ts'

/** Reports a fault at a path such as `['apps', 0, 'webhooks', 1, 'url']`. */
export type Fault = (path: PropertyKey[], message: string) => void

/** A rule over several fields or entries. */
function rule<T>(look: (value: T, fault: Fault) => void): (value: T, context: z.RefinementCtx) => void {
  return (value, context) => {
    if (typeof value === 'object' && value !== null)
      look(value, (path, message) => context.addIssue({ code: 'custom', path, message }))
  }
}

/**
 * Also runs the rule on values with other faults, so that one run reports all of them. That is why rules use `?.` and
 * `elementsOf` where the types do not require it.
 */
const always = { when: () => true }

/** The objects in a list. Empty if the value is not a list. */
function elementsOf<T>(list: T[]): [index: number, element: T][] {
  return Array.isArray(list) ? [...list.entries()].filter(([, element]) => isObject(element)) : []
}

const service = entry({
  service: text,
  permissions: listOf(entry({ code: text, name }))
    .transform((permissions) => byName(permissions, ({ code }) => code))
    .default(() => []),
})

const role = entry({
  code: text,
  name,
  scope: text.default('global'),
  assignable_by: text.optional(),
  description: text.nullable().default(null),
  /** Empty for `super_admin`, which holds every permission anyway. */
  permissions: setOf(text)
    .transform((codes) => byName(codes, (code) => code))
    .default(() => []),
})

/** Defaults that depend on the code of the role. */
function roleStandards({ code }: { code: string }) {
  return { assignable_by: builtInOrganizationRoles.includes(code) ? 'org_admin' : 'system_admin' }
}

const wholeRole = role.transform((given) => ({
  ...given,
  assignable_by: given.assignable_by ?? roleStandards(given).assignable_by,
}))

const webhook = entry({
  name,
  url: text,
  events: listOf(text).default(['user.registered']),
  enabled: flag.default(true),
  /** Undefined keeps the stored secret, null clears it. */
  secret: text.nullable().optional(),
})

const brand = entry({
  accent_color: text.nullable().default(null),
  support_email: text.nullable().default(null),
  support_url: text.nullable().default(null),
  terms_url: text.nullable().default(null),
  privacy_url: text.nullable().default(null),
  from_name: text.nullable().default(null),
  default_language: text.nullable().default(null),
})

/** As the service shows it. What is no time is left to the service, which says so. */
const moment = text.transform((given) => parseMoment(given, Number.NaN) ?? given)

const app = entry({
  code: text,
  name,
  description: text.nullable().default(null),
  status: text.default('active'),
  sign_up: text.default('open'),
  organization_sign_up: flag.default(true),
  require_verified_email: flag.default(false),
  machine_tokens: flag.default(false),
  single_sign_on: flag.default(true),
  max_sign_in_age_seconds: z.number().nullable().default(null),
  trust_device_days: z.number().default(0),
  client: text.default('public'),
  device_grant: flag.default(false),
  require_two_factor: text.default('off'),
  require_two_factor_from: moment.nullable().default(null),
  brand: brand.default(() => brand.parse({})),
  /** A file beside this one, or a data URL. */
  logo: text.nullable().default(null),
  auto_grant_on_signup: flag.default(false),
  auto_grant_follows_policy: flag.default(false),
  allowed_redirect_urls: listOf(text).default(() => []),
  frontend_url: text.nullable().default(null),
  registration_namespace: text.default('default'),
  read_namespaces: setOf(text).default(() => []),
  default_organization_slug: text.nullable().default(null),
  default_role_code: text.optional(),
  override_role_codes: setOf(text).default(() => []),
  linked_app_codes: setOf(text).default(() => []),
  service_codes: setOf(text).optional(),
  permission_scope: text.default('services'),
  allowed_email_domains: setOf(text).default(() => []),
  allowed_auth_methods: setOf(text).default(() => []),
  webhooks: listOf(webhook).default(() => []),
})

/** Defaults that depend on other fields of the app. */
function appStandards({ code, default_organization_slug }: { code: string; default_organization_slug: string | null }) {
  return { default_role_code: default_organization_slug === null ? null : 'org_member', service_codes: [code] }
}

const wholeApp = app.transform((given) => {
  const { default_role_code, service_codes } = appStandards(given)
  return {
    ...given,
    default_role_code: given.default_role_code ?? default_role_code,
    service_codes: given.service_codes ?? service_codes,
  }
})

function sectionOf<Entry extends z.ZodType>(entry: Entry, nameOf: (one: z.output<Entry>) => string) {
  return z.array(entry, 'must be a list').superRefine(
    rule((entries, fault) => {
      const known = new Set<string>()
      for (const [index, one] of elementsOf(entries)) {
        const name = nameOf(one)
        if (name !== undefined && known.has(name)) fault([index], `repeats ${name}`)
        known.add(name)
      }
    }),
    always,
  )
}

/** Each permission code belongs to one service, and is listed once. */
const services = sectionOf(service, (one) => one.service).superRefine(
  rule((entries, fault) => {
    const owners = new Map<string, string>()
    for (const [index, { service, permissions }] of elementsOf(entries)) {
      for (const [, { code }] of elementsOf(permissions)) {
        const owner = owners.get(code)
        if (owner !== undefined)
          fault([index, 'permissions'], owner === service ? `has ${code} twice` : `has ${code}, which belongs to ${owner}`)
        if (code !== undefined) owners.set(code, service)
      }
    }
  }),
  always,
)

const sections = {
  services: services.optional(),
  roles: sectionOf(wholeRole, ({ code }) => code).optional(),
  apps: sectionOf(wholeApp, ({ code }) => code).optional(),
}

/** The file of `export`, `diff` and `apply`. A missing field has its default; a missing section changes nothing. */
export const declaration = z.preprocess(
  // `apps:` without a value is an empty list. A file without any section is not a declaration.
  (given) =>
    isObject(given) && Object.keys(given).length > 0
      ? Object.fromEntries(Object.entries(given).map(([section, list]) => [section, list ?? []]))
      : undefined,
  z.strictObject(sections, { error: `must have at least one of ${Object.keys(sections).join(', ')}` }),
)

const shapes = {
  service: service.out.shape,
  role: role.out.shape,
  app: app.out.shape,
  webhook: webhook.out.shape,
  brand: brand.out.shape,
}

/** The fields of an entry, in order, each with its default. Undefined for a required field. */
export function standardsOf(
  kind: Kind | 'webhook' | 'brand',
  { code = '', default_organization_slug = null }: { code?: string; default_organization_slug?: string | null },
): Map<string, { value: unknown } | undefined> {
  const dependent: Record<string, unknown> = {
    ...(kind === 'app' && appStandards({ code, default_organization_slug })),
    ...(kind === 'role' && roleStandards({ code })),
  }
  return new Map(
    Object.entries<z.ZodType>(shapes[kind]).map(([field, schema]) => {
      const { success, data } = schema.safeParse(undefined)
      return [field, success ? { value: field in dependent ? dependent[field] : data } : undefined]
    }),
  )
}

export type DeclaredService = z.output<typeof service>
export type DeclaredRole = z.output<typeof role>
/** Everything about an app that can be the same in another installation. */
export type DeclaredApp = z.output<typeof wholeApp>
export type Declaration = z.output<typeof declaration>
export type Entry = DeclaredService | DeclaredRole | DeclaredApp
