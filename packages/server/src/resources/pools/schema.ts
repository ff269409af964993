import { z } from 'zod'
import { id, list, page, pageByNameQuery, pool } from '../../lib/fields.ts'
import { userRecord } from '../../lib/records.ts'

export { userParams } from '../../lib/fields.ts'
export { userRecord } from '../../lib/records.ts'

export const poolParams = z.object({ namespace: pool })

export const listPoolsQuery = z.strictObject(pageByNameQuery)

export const poolRecord = z
  .object({
    namespace: z.string(),
    user_count: z.int().meta({ description: 'Users whose home pool it is, including suspended users but not deleted ones' }),
    tagged_user_count: z.int().meta({ description: 'Users who have it as a pool tag' }),
    apps: z
      .array(
        z.object({
          id,
          code: z.string(),
          as: z
            .enum(['registration', 'read'])
            .meta({ description: 'Whether the app registers users into the pool, or reads it' }),
        }),
      )
      .meta({ description: 'The apps that use it, by code' }),
  })
  .meta({ id: 'Pool' })

export const poolPage = page(poolRecord)

export const listCollisionsQuery = z.strictObject({
  ...pageByNameQuery,
  with: pool.meta({ description: 'The other pool' }),
})

export const collisionRecord = z
  .object({
    email: z.string(),
    users: z.array(userRecord).meta({ description: 'The two users: of `{namespace}` first, then of `with`' }),
  })
  .meta({ id: 'Collision' })

export const collisionPage = page(collisionRecord)

export const moveUserBody = z
  .strictObject({ namespace: pool.meta({ description: 'The new home pool' }) })
  .meta({ id: 'MoveUser' })

export const changePoolTagsBody = z
  .strictObject({ add: list(pool).optional(), remove: list(pool).optional() })
  .meta({ id: 'ChangePoolTags' })
export type ChangePoolTagsInput = z.output<typeof changePoolTagsBody>

/** The pools of a user. */
export const userPools = z
  .object({ namespace: userRecord.shape.namespace, namespaces: userRecord.shape.namespaces })
  .meta({ id: 'UserPools' })
