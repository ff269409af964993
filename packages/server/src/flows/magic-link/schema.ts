import { z } from 'zod'
import { optionalTwoFactorCode, password } from '../../lib/entry-fields.ts'
import { mailToken } from '../../mail/fields.ts'

export { tokenAnswer } from '../../lib/records.ts'

export const consumeMagicLinkBody = z
  .object({
    token: mailToken,
    password: password.optional().meta({ description: 'Password of the account. With it, an unproven account keeps everything' }),
    two_factor_code: optionalTwoFactorCode,
  })
  .meta({ id: 'ConsumeMagicLink' })
export type ConsumeMagicLinkInput = z.output<typeof consumeMagicLinkBody>
