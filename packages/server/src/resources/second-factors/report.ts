import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { relyingPartyOf } from '../../lib/relying-party.ts'
import { wordsIn } from '../../lib/words.ts'
import { User } from '../../models/user.ts'
import { getApp } from '../apps/get-app.ts'
import type { WithoutSecondFactor } from './schema.ts'

/** The users who can enter an app and own neither a second factor nor a passkey. Throws `not_found`. */
export async function listWithoutSecondFactor(
  deps: Deps,
  appRef: string,
  { of, ...request }: PageRequest & { of: 'admins' | 'everyone' },
): Promise<Page<WithoutSecondFactor>> {
  const { id: appId, built_in: isBuiltIn } = await getApp(deps, appRef)
  const rpId = relyingPartyOf(deps.config.publicUrl)?.id ?? ''
  const asked = { appId, isBuiltIn, isOfAdmins: of === 'admins', rpId, now: deps.clock() }
  const { items, nextCursor } = await User.listWithoutSecondFactor(deps.db, asked, request)
  return {
    items: items.map(({ id, global_roles, ...user }) => ({ user_id: id, ...user, roles: wordsIn(global_roles) })),
    nextCursor,
  }
}
