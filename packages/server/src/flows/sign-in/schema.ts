import { z } from 'zod'
import {
  optionalAppCode,
  optionalDeviceToken,
  optionalField,
  optionalTwoFactorCode,
  overrideFields,
  password,
} from '../../lib/entry-fields.ts'
import { email, id } from '../../lib/fields.ts'
import { mailToken } from '../../mail/fields.ts'

export { tokenAnswer } from '../../lib/records.ts'

/** Unknown members are accepted and ignored, since clients share one form between register and login. */
export const loginBody = z
  .looseObject({
    email,
    password,
    app_code: optionalAppCode,
    organization_id: optionalField(id),
    two_factor_code: optionalTwoFactorCode,
    device_token: optionalDeviceToken,
    ...overrideFields,
  })
  .meta({ id: 'Login' })

export const consumeMagicLinkBody = z
  .object({
    token: mailToken,
    password: password.optional().meta({ description: 'Password of the account. With it, an unproven account keeps everything' }),
    two_factor_code: optionalTwoFactorCode,
  })
  .meta({ id: 'ConsumeMagicLink' })
export type ConsumeMagicLinkInput = z.output<typeof consumeMagicLinkBody>
