import { z } from 'zod'
import { normalizeDomain, normalizeDomainRule, normalizeEmail } from './email.ts'
import { decodeCursor, isNameKey, nameOfKey } from './keyset.ts'
import { canonicalLocale } from './locale.ts'
import { MAX_PASSWORD_BYTES } from './password.ts'
import { redirectRuleFault } from './redirect-url.ts'
import { isUuid } from './uuid.ts'

// Fields that several schemas share, with these limits: names 200 characters, other strings 2,000, lists 200 entries, lists of
// permissions 5,000.

export const MAX_NAME = 200
export const MAX_TEXT = 2_000
export const MAX_LIST = 200
/** For how many days an app may trust a browser. */
export const MAX_TRUST_DAYS = 30
export const MAX_PERMISSIONS = 5_000
const maxCode = 100

const kebabCase = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const poolForm = /^[a-z0-9_-]+$/
const controlCharacter = /[\p{Cc}\p{Zl}\p{Zp}]/u
const permissionForm = /^[A-Za-z0-9._*/-]+:[A-Za-z0-9._*/:-]+$/
/** A resource and an action of 200 characters together, and the colon between them. */
const MAX_PERMISSION = 201
const isoMoment = z.union([z.iso.datetime({ offset: true }), z.iso.date()])

export const cursorForm = /^\d{1,16}$/
export const feedCursor = z.string().regex(cursorForm, 'must be a cursor of this feed').transform(Number)

/** Accepts any case. Stored and compared in lower case, since UUIDs are text in SQLite. */
export const id = z.string().toLowerCase().refine(isUuid, 'must be a UUID').meta({ format: 'uuid' })
export const timestamp = z.string().meta({ format: 'date-time', description: 'ISO 8601, UTC, whole milliseconds' })
export const shownOnceMark = 'x-shown-once'
/** A secret in the answer to the call that made it. The router blanks it in a dry run, which makes none. */
export function shownOnce(description: string) {
  return z
    .string()
    .nullable()
    .meta({ description: `${description}. Null in a dry run`, [shownOnceMark]: true })
}
/** A time in a request, as milliseconds: ISO 8601 with a zone, or a date, which means its start in UTC. */
export const moment = z
  .string()
  .transform((raw, context) => {
    const ms = isoMoment.safeParse(raw).success ? Date.parse(raw) : Number.NaN
    if (Number.isFinite(ms)) return ms
    context.addIssue({ code: 'custom', message: 'must be ISO 8601: 2026-01-31T12:00:00Z, a time with an offset, or a date' })
    return z.NEVER
  })
  .meta({ format: 'date-time' })
export const name = z.string().trim().min(1).max(MAX_NAME)
export const text = z.string().max(MAX_TEXT)

/** The language that a user reads, in the form that is stored. */
export const locale = z
  .string()
  .transform((raw, context) => {
    const tag = canonicalLocale(raw)
    if (tag !== undefined) return tag
    context.addIssue({ code: 'custom', message: 'must be a language tag of BCP 47, such as de or pt-BR' })
    return z.NEVER
  })
  .meta({ description: 'The language that the user reads: a BCP 47 tag, such as `de` or `pt-BR`' })

/** The code of a new app: kebab-case, and not a UUID, since `{appId}` takes either. */
export const newAppCode = z
  .string()
  .min(1)
  .max(maxCode)
  .regex(kebabCase, 'must be kebab-case: a-z, 0-9 and single hyphens between them')
  .refine((code) => !isUuid(code), 'must not look like a UUID')

/** The code of an app, or `*` for every app. */
export const appCodeOrAll = z
  .string()
  .max(maxCode)
  .refine((code) => code === '*' || newAppCode.safeParse(code).success, 'must be the code of an app, or * for every app')

/** The code of an app in a request. A code that no app has is answered as unknown, not as malformed. */
export const appCode = z.string().max(MAX_TEXT)

/** A code that a caller may have made up, as the audit and the log keep it. */
export function cutCode(code: string): string {
  return code.length > maxCode ? `${code.slice(0, maxCode)}…` : code
}

/** `{appId}` of a path: UUID or code. */
export const appRef = z
  .string()
  .max(maxCode)
  .transform((ref) => (isUuid(ref) ? ref.toLowerCase() : ref))
  .pipe(z.string().regex(kebabCase))

export const pool = z.string().min(1).max(maxCode).regex(poolForm, 'must contain only a-z, 0-9, _ and -')
export const roleCode = z
  .string()
  .min(1)
  .max(maxCode)
  .regex(/^[a-z0-9_-]+$/, 'must contain only a-z, 0-9, _ and -')
/** A way to sign in: `password`, `magic_link`, `email_code`, `passkey`, or the code of a provider. */
export const authMethodCode = z
  .string()
  .min(1)
  .max(maxCode)
  .regex(/^[a-z0-9_-]+$/, 'must contain only a-z, 0-9, _ and -')
/** The name of a service or of a linked app, which need not exist yet. */
export const stableCode = z
  .string()
  .min(1)
  .max(MAX_NAME)
  .refine((code) => code === code.trim(), 'must not begin or end with white space')
  .refine((code) => !controlCharacter.test(code), 'must not contain control characters')

/** `resource:action`; the resource ends at the first colon. */
export const permissionCode = z
  .string()
  .max(MAX_PERMISSION)
  .regex(permissionForm, 'must be resource:action, made of letters, digits, . _ * / and -; the action may contain colons')

/** What each parameter of a path may be, by its name in braces. A value that it may not be is answered as unknown. */
export const pathParameters = {
  appId: appRef.meta({ description: 'UUID or code of the app' }),
  browserId: id,
  deliveryId: id,
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  id,
  identityId: id,
  invitationId: id,
  key: text.min(1),
  mailId: id,
  namespace: pool,
  organizationId: id,
  passkeyId: id,
  permission: permissionCode,
  provider: authMethodCode.meta({ description: 'Code of the provider' }),
  providerCode: authMethodCode,
  requestId: id,
  roleCode,
  secretId: id,
  serviceAccountId: id,
  sessionId: id,
  userId: id,
}

export const email = z.string().transform((raw, context) => {
  const normalized = normalizeEmail(raw)
  if (normalized !== undefined) return normalized
  context.addIssue({ code: 'custom', message: 'must be an e-mail address' })
  return z.NEVER
})

export const emailDomainRule = z.string().transform((raw, context) => {
  const rule = normalizeDomainRule(raw)
  if (rule !== undefined) return rule
  context.addIssue({ code: 'custom', message: 'must be a domain (corp.com) or its subdomains (*.corp.com)' })
  return z.NEVER
})

/** A domain, or `*` for every domain. */
export const domainOrAll = z.string().transform((raw, context) => {
  const domain = raw === '*' ? raw : normalizeDomain(raw)
  if (domain !== undefined) return domain
  context.addIssue({ code: 'custom', message: 'must be a domain (corp.com), or * for every domain' })
  return z.NEVER
})

export const redirectRule = z
  .string()
  .max(MAX_TEXT)
  .superRefine((rule, context) => {
    const fault = redirectRuleFault(rule)
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault })
  })

/** Invisible characters could make a link in a mail look like another. In a URL they are written encoded. */
const foreignToUrls = /[\s\\\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u

export const webUrl = z
  .string()
  .max(MAX_TEXT)
  .superRefine((raw, context) => {
    const url = URL.parse(raw)
    // URL parsers repair `https:host`, but the raw string is what is stored and dialled.
    if (!url || !/^https?:\/\/[^/]/i.test(raw) || foreignToUrls.test(raw))
      context.addIssue({ code: 'custom', message: 'must be an absolute http or https URL' })
    else if (url.username !== '' || url.password !== '')
      context.addIssue({ code: 'custom', message: 'must not contain user info' })
  })

/** A list of `least` to `most` entries, which are counted before any of them is judged. */
export function list<T extends z.ZodType>(entry: T, most: number = MAX_LIST, least = 0) {
  const entries = z.array(entry).max(most)
  return z.preprocess(
    (value, context) => {
      if (!Array.isArray(value) || value.length <= most) return value
      context.addIssue({ code: 'too_big', origin: 'array', maximum: most, inclusive: true, input: value })
      return z.NEVER
    },
    least > 0 ? entries.min(least) : entries,
  )
}

/** The `X-Request-Id` of a request. Any client can choose one. */
export const requestIdForm = /^[A-Za-z0-9._-]{1,128}$/
export const requestId = z.string().regex(requestIdForm, 'must be 1 to 128 letters, digits, dots, hyphens and underscores')

/** `null` and the empty string both clear an optional field of an admin body. */
export function clearable<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => (value === '' ? null : value), schema.nullable()).optional()
}

/** Sets the OpenAPI type of a query parameter to that of its parsed value. On the wire it is text. */
export function readAs(type: Record<string, unknown>) {
  return ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => {
    for (const keyword of Object.keys(jsonSchema)) if (keyword !== 'description') delete jsonSchema[keyword]
    Object.assign(jsonSchema, type)
  }
}

/** A query parameter that is true or false. */
export const queryFlag = z.enum(['true', 'false']).meta({ override: readAs({ type: 'boolean' }) })

export const dryRun = queryFlag.optional().meta({
  description: 'Returns what the call would return, but changes, sends and reveals nothing. The response has `X-Dry-Run: true`',
})

/** `?limit=&cursor=` of every list. The cursor is opaque to clients. */
export const pageQuery = {
  limit: z
    .string()
    .regex(/^\d{1,3}$/, 'must be a whole number from 1 to 200')
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= 200, 'must be a whole number from 1 to 200')
    .optional()
    .meta({
      description: 'Entries per page, 1 to 200. Default: 50',
      override: readAs({ type: 'integer', minimum: 1, maximum: 200 }),
    }),
  cursor: z
    .string()
    .max(500)
    .transform((cursor, context) => {
      const key = decodeCursor(cursor, isUuid)
      if (key !== undefined) return key
      context.addIssue({ code: 'custom', message: 'must be a cursor of this list' })
      return z.NEVER
    })
    .optional()
    .meta({ description: '`next_cursor` of the previous page' }),
}

/** The query of a list that has no filters. */
export const pageRequest = z.strictObject(pageQuery)

/** `?limit=&cursor=` of a list by name. Its cursors are those of `withPageByName`. */
export const pageByNameQuery = {
  limit: pageQuery.limit,
  cursor: z
    .string()
    .max(500)
    .transform((cursor, context) => {
      const key = decodeCursor(cursor, isNameKey)
      if (key !== undefined) return nameOfKey(key)
      context.addIssue({ code: 'custom', message: 'must be a cursor of this list' })
      return z.NEVER
    })
    .optional()
    .meta({ description: '`next_cursor` of the previous page' }),
}
export const pageByNameRequest = z.strictObject(pageByNameQuery)

/** The search text of a list. */
export const searchQuery = z.string().max(MAX_NAME).optional().meta({ description: 'Literal substring. Ignores ASCII case' })

/** For tables that grow with the users. */
export const indexedSearchQuery = searchQuery.meta({
  description:
    'Literal substring. Ignores ASCII case. A text of one or two characters must be the beginning; so must every text where ' +
    'Postgres has no extension `pg_trgm`',
})

export function page<T extends z.ZodType>(item: T) {
  return z.object({ items: z.array(item), next_cursor: z.string().nullable() })
}

// The fields that login and registration share.

const maxOverrideEntries = 50

/** An optional field. Null and blank text count as absent, since forms send empty inputs that way. */
export function optionalField<T extends z.ZodType>(schema: T) {
  const given = schema.nullish().transform((value) => value ?? undefined)
  return z.preprocess((value) => (isBlank(value) ? undefined : value), given).optional()
}

function isBlank(value: unknown): boolean {
  return value === null || (typeof value === 'string' && value.trim() === '')
}

/** A login without an app may leave `app_code` out, or send null or a blank text. */
export const optionalAppCode = appCode.nullish().transform((code) => code?.trim() || undefined)

/** A code of an authenticator app, or a recovery code. A blank one, as forms send it, counts as absent. */
export const optionalTwoFactorCode = text
  .nullish()
  .transform((code) => code?.trim() || undefined)
  .meta({ description: 'A 6-digit code of the authenticator app, or a recovery code' })

/** The form of the token is not validated: a token that is unknown, expired or another user's counts as absent. */
export const optionalDeviceToken = text
  .nullish()
  .transform((token) => token?.trim() || undefined)
  .meta({ description: '`device_token` of an earlier response for the same e-mail. One that is not valid is ignored' })

/** The overrides of a request: what it asks for in place of the settings of its app. Provisioning checks what they name. */
export const overrideFields = {
  role_code: optionalField(text),
  linked_app_codes: optionalField(z.array(text).max(maxOverrideEntries)),
}

export const password = z
  .string()
  .min(1)
  .refine((value) => Buffer.byteLength(value) <= MAX_PASSWORD_BYTES, {
    error: `must have at most ${MAX_PASSWORD_BYTES} bytes`,
    params: { code: 'too_long' },
  })
  .meta({ format: 'password' })

/** With these, a signed-in user proves their identity again. */
export const proofFields = {
  password: password.optional().meta({ description: 'Required unless the last login was in the last 10 minutes' }),
  two_factor_code: optionalTwoFactorCode.meta({
    description: 'A two-factor code. Required in the same case if a second factor is active',
  }),
}

/** Like `proofFields`, where the password is always required of an account that has one. */
export const passwordProofFields = {
  password: password.optional().meta({ description: 'Required if the account has a password' }),
  two_factor_code: optionalTwoFactorCode.meta({
    description: 'A two-factor code. Required if a second factor is active and no login in the last 10 minutes passed it',
  }),
}
