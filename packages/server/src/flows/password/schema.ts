import { z } from 'zod'
import { password } from '../../lib/entry-fields.ts'

export { tokenAnswer } from '../../lib/records.ts'

export const changePasswordBody = z
  .strictObject({ current_password: password, new_password: password.meta({ description: '8 characters to 1,024 bytes' }) })
  .meta({ id: 'ChangePassword' })
export type ChangePasswordInput = z.output<typeof changePasswordBody>
