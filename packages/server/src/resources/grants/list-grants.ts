import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { UserApp } from '../../models/user-app.ts'
import { getApp } from '../apps/get-app.ts'
import { getUser } from '../users/get-user.ts'
import { pooled, presentUser } from '../users/present.ts'
import { presentGrant } from './present.ts'
import type { appUserPage, grantRecord } from './schema.ts'

/** The grants of a user, newest first, revoked ones too. Throws `not_found`. */
export async function listGrantsOfUser(
  deps: Deps,
  userId: string,
  request: PageRequest,
): Promise<Page<z.output<typeof grantRecord>>> {
  await getUser(deps, userId)
  const { items, nextCursor } = await UserApp.listOfUser(deps.db, userId, request)
  const now = deps.clock()
  return { items: items.map((grant) => presentGrant(grant, grant.app.code, now)), nextCursor }
}

/** The grants of an app with their users, newest first, revoked ones too. Throws `not_found`. */
export async function listGrantsOfApp(
  deps: Deps,
  appRef: string,
  request: PageRequest,
): Promise<Page<z.output<typeof appUserPage>['items'][number]>> {
  const app = await getApp(deps, appRef)
  const { items, nextCursor } = await UserApp.listOfApp(deps.db, app.id, request)
  const now = deps.clock()
  return {
    items: items.map((grant) => ({ ...presentGrant(grant, app.code, now), user: presentUser(pooled(grant.user)) })),
    nextCursor,
  }
}
