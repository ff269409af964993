import type { z } from 'zod'
import { type PooledUser, presentUser } from '../users/present.ts'
import type { userPools } from './schema.ts'

export { presentUser } from '../users/present.ts'

/** The pools of a user as answers show them. */
export function presentPools(user: PooledUser): z.output<typeof userPools> {
  const { namespace, namespaces } = presentUser(user)
  return { namespace, namespaces }
}
