import { z } from 'zod'
import { optionalTwoFactorCode, password, passwordProofFields } from '../../lib/entry-fields.ts'
import { email } from '../../lib/fields.ts'
import { userRecord } from '../../lib/records.ts'
import { mailToken } from '../../mail/fields.ts'

export const verifyEmailBody = z
  .object({
    token: mailToken,
    password: password.optional().meta({
      description:
        'Password of the account. Apps that require a verified address only open with this, or with a bearer of the account',
    }),
    two_factor_code: optionalTwoFactorCode.meta({
      description: 'A two-factor code. Required with the password if the account is unproven and a second factor is active',
    }),
  })
  .meta({ id: 'VerifyEmail' })
export const disownEmailBody = z.object({ token: mailToken }).meta({ id: 'DisownEmail' })
export const verifiedUser = z.object({ user: userRecord })

export const changeEmailBody = z.strictObject({ email, ...passwordProofFields }).meta({ id: 'ChangeEmail' })
export type ChangeEmailInput = z.output<typeof changeEmailBody>
export const confirmChangeBody = z
  .object({
    token: mailToken,
    password: password
      .optional()
      .meta({ description: 'Password of the account. Required unless a bearer of the account is sent' }),
  })
  .meta({ id: 'ConfirmEmailChange' })
export const undoChangeBody = z.object({ token: mailToken }).meta({ id: 'UndoEmailChange' })
export const changeRequested = z.object({})
