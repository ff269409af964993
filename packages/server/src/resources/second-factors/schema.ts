import { z } from 'zod'
import { id, page, pageQuery } from '../../lib/fields.ts'

export { appParams, userParams } from '../../lib/fields.ts'

export const reportQuery = z.strictObject({
  ...pageQuery,
  of: z
    .enum(['admins', 'everyone'])
    .default('everyone')
    .meta({ description: '`admins`: only users with a global role besides `base_user`' }),
})

const withoutSecondFactor = z
  .object({ user_id: id, email: z.string(), namespace: z.string(), roles: z.array(z.string()) })
  .meta({ id: 'WithoutSecondFactor' })
export type WithoutSecondFactor = z.output<typeof withoutSecondFactor>

export const reportPage = page(withoutSecondFactor)
