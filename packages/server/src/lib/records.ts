import { z } from 'zod'
import { id, list, MAX_PERMISSIONS, text, timestamp } from './fields.ts'
import { iso } from './timestamps.ts'

/** The effective state of a grant: an active one expires at `expires_at`. */
const grantStates = ['active', 'revoked', 'expired'] as const

/** `expires_at` and `now` in milliseconds. */
export function grantStateAt(
  { status, expires_at }: { status: 'active' | 'revoked'; expires_at: number | null },
  now: number,
): (typeof grantStates)[number] {
  if (status === 'revoked') return 'revoked'
  return expires_at === null || expires_at > now ? 'active' : 'expired'
}

/** A record as it is stored: its times, which are named `at` or `…_at`, are in milliseconds. */
export type Stored<T> = { [K in keyof T]: K extends 'at' | `${string}_at` ? number | Extract<T[K], null> : T[K] }

/** Shows the members that a record has of what is stored, and nothing else of it. Times become ISO 8601. */
export function present<S extends z.ZodObject>(record: S, stored: Stored<z.output<S>>): z.output<S> {
  const shown: Record<string, unknown> = {}
  for (const name of Object.keys(record.shape)) {
    const value: unknown = Reflect.get(stored, name)
    const isTime = typeof value === 'number' && (name === 'at' || name.endsWith('_at'))
    if (value !== undefined) shown[name] = isTime ? iso(value) : value
  }
  return shown as z.output<S>
}

// Records that are in the answers of several features, with their names in the OpenAPI document.

/** A user, as every answer shows one. */
export const userRecord = z
  .object({
    id,
    email: z.string(),
    email_verified: z.boolean(),
    first_name: z.string().nullable(),
    last_name: z.string().nullable(),
    namespace: z.string().meta({ description: 'Home pool' }),
    namespaces: z.array(z.string()).meta({ description: 'Home pool first, then pool tags' }),
    status: z.enum(['active', 'suspended', 'deleted']),
    created_at: timestamp,
  })
  .meta({ id: 'User' })

/** The language of a user, where answers show it. */
export const shownLocale = z.string().nullable().meta({
  description: 'The language that the user reads: a BCP 47 tag. Null if it is not known. Mails are written in it',
})

/** The permissions that a role or a service account is to hold. */
export const permissionCodesBody = z
  .strictObject({
    // Any text: the permissions that do not exist are reported later, for all entries at once.
    permissions: list(text, MAX_PERMISSIONS).meta({ description: 'Permission codes: `resource:action`' }),
  })
  .meta({ id: 'PermissionCodes' })

/** The effective state of a grant, beside the `status` that is stored. */
export const grantState = z
  .enum(grantStates)
  .meta({ description: '`status`, or `expired` for an active grant whose `expires_at` has passed' })

export type UserRecord = z.output<typeof userRecord>

/** An app as answers to users name it. */
export const appRefRecord = z.object({ id, code: z.string() })

/** An organization as one of its members sees it. */
export const organizationRecord = z.object({ id, slug: z.string(), name: z.string(), role_codes: z.array(z.string()) })

export type Membership = z.output<typeof organizationRecord>

/** A member of answers to an admin who gives something to an unproven account. Absent for others. */
export const accountWarnings = {
  warnings: z
    .array(z.object({ code: z.literal('account_unverified') }))
    .optional()
    .meta({ description: 'The ownership of this account has not been proven: its address may belong to someone else' }),
}

/** A login at a provider that a user can sign in with. */
export const identityRecord = z
  .object({ id, provider: z.string().meta({ description: 'Code of the provider' }), created_at: timestamp })
  .meta({ id: 'Identity' })

export type IdentityRecord = z.output<typeof identityRecord>

/** Two users whom an app cannot tell by their e-mail. */
export const collisionWarning = z.object({
  code: z.literal('email_collisions'),
  namespaces: z.array(z.string()).meta({ description: 'Two pools of the app. A login finds the user of the first one' }),
  count: z.int().meta({ description: 'Number of e-mails with a user in each pool, among the first 1,000 shared ones' }),
  message: z.string(),
})

export const tokenSizeWarning = z.object({
  app: z.string().meta({ description: 'Code of the app' }),
  projected_token_bytes: z
    .int()
    .meta({ description: 'Expected length of its tokens. In scope `roles`, of the tokens with the largest role' }),
})

/** A member of answers to calls that make the tokens of an app longer. */
export const tokenSizeWarnings = {
  warnings: z
    .array(tokenSizeWarning)
    .optional()
    .meta({ description: 'Apps whose tokens exceed AUTH_TOKEN_WARN_BYTES. Absent if there are none. Nothing is refused' }),
}

/** The members that carry tokens. */
export const tokenMembers = {
  token_type: z.literal('Bearer'),
  access_token: z.string(),
  expires_in: z.int().meta({ description: 'Seconds until the access token expires' }),
  refresh_token: z.string(),
  refresh_expires_in: z.int().meta({ description: 'Seconds until the refresh token expires if it is not used' }),
  device_token: z
    .string()
    .optional()
    .meta({
      description:
        'Send it with the next login for the same e-mail, so that guesses of strangers cannot lock out this device. Replaces ' +
        'neither password nor second factor. Valid for 180 days. Not in the response to a refresh',
    }),
}

/** The answer of every call that gives tokens. */
export const tokenAnswer = z
  .object({ ...tokenMembers, user: userRecord, app: appRefRecord.nullable(), organization: organizationRecord.nullable() })
  .meta({ id: 'Tokens' })
  .brand<'issued'>()
/** Only the code that issues tokens can make it, so a route that answers with tokens cannot get them from anywhere else. */
export type TokenAnswer = z.output<typeof tokenAnswer>

export const requestStatus = z.enum(['open', 'approved', 'denied'])

/** A request for access to an app, as its user sees it. */
export const ownAccessRequest = z
  .object({
    id,
    app: z.object({ id, code: z.string() }),
    status: requestStatus,
    message: z.string().nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'OwnAccessRequest' })
