import { z } from 'zod'
import { appCode, text } from './fields.ts'
import { MAX_PASSWORD_BYTES } from './password-policy.ts'

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

/** With these, a logged-in user proves their identity again. */
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
