import { z } from 'zod'
import { email, MAX_NAME, optionalTwoFactorCode, password } from '../../lib/fields.ts'

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
