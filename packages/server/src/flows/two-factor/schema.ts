import { z } from 'zod'
import { proofFields } from '../../lib/entry-fields.ts'
import { text } from '../../lib/fields.ts'

const code = text.trim().min(1).meta({ description: '6 digits from the authenticator app' })

export const setUpBody = z.strictObject(proofFields).meta({ id: 'SetUpTwoFactor' })
export type SetUpInput = z.output<typeof setUpBody>

export const activateBody = z.object({ ...proofFields, code }).meta({ id: 'ActivateTwoFactor' })
export type ActivateInput = z.output<typeof activateBody>

const disablingCode = code.optional().meta({ description: 'The same as `two_factor_code`' })
export const disableBody = z.strictObject({ ...proofFields, code: disablingCode }).meta({ id: 'DisableTwoFactor' })
export type DisableInput = z.output<typeof disableBody>

export const setUpAnswer = z
  .object({
    secret: z.string().meta({ description: 'The seed in base32, for typing it in' }),
    otpauth_url: z.string().meta({ description: 'The seed as a URL, for a QR code' }),
  })
  .meta({ id: 'TwoFactorSetUp' })
export type SetUpAnswer = z.output<typeof setUpAnswer>

export const recoveryCodesAnswer = z
  .object({ recovery_codes: z.array(z.string()).meta({ description: 'Ten single-use codes. Shown only once' }) })
  .meta({ id: 'RecoveryCodes' })
export type RecoveryCodesAnswer = z.output<typeof recoveryCodesAnswer>
