import { z } from 'zod'
import {
  email,
  id,
  optionalAppCode,
  optionalDeviceToken,
  optionalField,
  optionalTwoFactorCode,
  overrideFields,
  password,
  text,
} from '../../lib/fields.ts'
import { mailToken } from '../../mail/fields.ts'

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

const requestId = text.min(1).meta({ description: '`request_id` of the answer to the request for the code' })

export const emailCodeBody = z
  .object({
    email,
    app_code: optionalAppCode,
    redirect_url: optionalField(text).meta({
      description: 'Passed on in the link. One of the `allowed_redirect_urls` of the app',
    }),
    request_id: optionalField(text).meta({
      description:
        '`request_id` of an earlier answer. It is answered again if no further mail is sent, so that its code stays usable',
    }),
  })
  .meta({ id: 'EmailCodeRequest' })
export type EmailCodeInput = z.output<typeof emailCodeBody>

export const emailCodeAsked = z.object({ request_id: z.string() }).meta({ id: 'EmailCodeAsked' })

export const consumeEmailCodeBody = consumeMagicLinkBody
  .omit({ token: true })
  .extend({
    request_id: requestId,
    code: text.min(1).meta({ description: 'The six digits of the mail' }),
    device_token: optionalDeviceToken,
  })
  .meta({ id: 'ConsumeEmailCode' })
export type ConsumeEmailCodeInput = z.output<typeof consumeEmailCodeBody>
