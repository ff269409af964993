import { z } from 'zod'
import { optionalTwoFactorCode, password } from '../../lib/entry-fields.ts'
import { email, MAX_NAME } from '../../lib/fields.ts'

/** A field as the form sends it. A missing or repeated field counts as empty and is validated as such. */
const sent = z.string().catch('')

export const tokenForm = z.object({ token: sent })

/** `forgot` is sent by the button of a reader who does not know the password. */
export const confirmForm = z.object({ token: sent, password: sent, two_factor_code: sent, forgot: sent })
export type ConfirmForm = z.output<typeof confirmForm>

export const newPasswordForm = z.object({ token: sent, password: sent, password_again: sent })
export type NewPasswordForm = z.output<typeof newPasswordForm>

export const invitationForm = z.object({
  token: sent,
  email: sent,
  password: sent,
  first_name: sent,
  last_name: sent,
  two_factor_code: sent,
})
export type InvitationForm = z.output<typeof invitationForm>

const optionalName = z
  .string()
  .trim()
  .max(MAX_NAME)
  .transform((value) => value || undefined)

/** The fields of that form that a registration or a login takes, with their limits. */
export const invitationAnswers = z.object({
  email,
  password,
  first_name: optionalName,
  last_name: optionalName,
  two_factor_code: optionalTwoFactorCode,
})
export type InvitationAnswers = z.output<typeof invitationAnswers>

export const passkeysQuery = z.object({
  app: sent.meta({ description: 'Code of the app whose users sign in here' }),
  said: sent.meta({ description: 'Set by the page itself' }),
})
export const passkeyForm = z.object({
  field: sent,
  app: sent,
  step: z.enum(['add', 'rename', 'remove']).catch('add'),
  id: sent,
  name: sent,
  /** The answer of `navigator.credentials.create`, as JSON, and the sealed challenge. */
  passkey: sent,
  passkey_challenge: sent,
})
export type PasskeyForm = z.output<typeof passkeyForm>
