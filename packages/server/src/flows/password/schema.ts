import { z } from 'zod'
import { password } from '../../lib/entry-fields.ts'
import { mailToken } from '../../mail/fields.ts'

export { tokenAnswer } from '../../lib/records.ts'

export const changePasswordBody = z
  .strictObject({
    current_password: password,
    new_password: password.meta({ description: 'At least 8 characters, at most 1,024 bytes' }),
  })
  .meta({ id: 'ChangePassword' })
export type ChangePasswordInput = z.output<typeof changePasswordBody>

export const resetPasswordBody = z
  .object({ token: mailToken, password: password.meta({ description: 'At least 8 characters, at most 1,024 bytes' }) })
  .meta({ id: 'ResetPassword' })
export type ResetPasswordInput = z.output<typeof resetPasswordBody>
