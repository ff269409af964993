import { z } from 'zod'
import { appCode, text } from './fields.ts'
import { MAX_PASSWORD_BYTES } from './password-policy.ts'

// The fields that both doors have, login and registration.

const maxOverrideEntries = 50

/** An optional field of a form: null and a blank text, as forms send what nobody filled in, are as if it were left out. */
export function optionalField<T extends z.ZodType>(schema: T) {
  const given = schema.nullish().transform((value) => value ?? undefined)
  return z.preprocess((value) => (isBlank(value) ? undefined : value), given).optional()
}

function isBlank(value: unknown): boolean {
  return value === null || (typeof value === 'string' && value.trim() === '')
}

/** A login through no app may leave `app_code` out, null or blank. */
export const optionalAppCode = appCode.nullish().transform((code) => code?.trim() || undefined)

/** A code of an authenticator app, or a recovery code. A blank one, as forms send it, counts as absent. */
export const optionalTwoFactorCode = text
  .nullish()
  .transform((code) => code?.trim() || undefined)
  .meta({ description: '6 digits of the authenticator app, or a recovery code' })

/** One that is unknown, expired or of somebody else counts as none, so its form is not judged. */
export const optionalDeviceToken = text
  .nullish()
  .transform((token) => token?.trim() || undefined)
  .meta({ description: '`device_token` of an earlier answer for the same e-mail; one that is not good counts as none' })

/**
 * The overrides of a request: what it asks for in place of the settings of its app. What they name is judged when provisioning
 * runs.
 */
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

/** By which somebody who is logged in proves who they are once more. */
export const proofFields = {
  password: password.optional().meta({ description: 'Needed unless the last login was in the last 10 minutes' }),
  two_factor_code: optionalTwoFactorCode.meta({ description: 'The same, where a second factor is active: a code of it' }),
}
