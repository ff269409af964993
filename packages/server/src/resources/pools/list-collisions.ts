import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { nameKeyOf, type Page, type PageRequest, pageOf, rowsToRead } from '../../lib/keyset.ts'
import { findCollisions } from '../users/find-collisions.ts'
import { presentUser } from '../users/present.ts'
import { poolExists } from './list-pools.ts'
import type { collisionRecord } from './schema.ts'

/** The e-mails that two users would share if one app read both pools, in order. Throws `not_found` for an unknown `namespace`. */
export async function listCollisions(
  deps: Deps,
  pools: { namespace: string; with: string },
  request: PageRequest,
): Promise<Page<z.output<typeof collisionRecord>>> {
  if (!(await poolExists(deps, pools.namespace))) throw new ApiError('not_found', { detail: 'No user or app uses this pool' })
  const both = [pools.namespace, pools.with]
  const collisions = await findCollisions(deps, both, { after: request.cursor, most: rowsToRead(request) })
  const { items, nextCursor } = pageOf(collisions, request, ({ email }) => nameKeyOf(email))
  return { items: items.map(({ email, users }) => ({ email, users: users.map(presentUser) })), nextCursor }
}
