import { z } from 'zod'
import { optionalDeviceToken, optionalTwoFactorCode, password } from '../../lib/entry-fields.ts'
import { clearable, email, stableCode, text } from '../../lib/fields.ts'

export { ownAccessRequest } from '../../lib/records.ts'

/** Unknown members are accepted and ignored, as at a login. */
export const askForAccessBody = z
  .looseObject({
    email,
    password,
    app_code: stableCode,
    two_factor_code: optionalTwoFactorCode,
    device_token: optionalDeviceToken,
    message: clearable(text).meta({ description: 'For the admins who decide' }),
  })
  .meta({ id: 'AskForAccess' })
