import { z } from 'zod'

export { userParams } from '../../lib/fields.ts'

export const deleteUserQuery = z.strictObject({
  erase: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: 'Also blank e-mail and names everywhere; takes a user who is deleted already, too' }),
})
