import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { id, page, pageQuery } from '../../lib/fields.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { relyingPartyOf } from '../../lib/web-authn.ts'
import { wordsIn } from '../../lib/words.ts'
import { RecoveryCode, SecondFactor } from '../../models/second-factor.ts'
import { TrustedBrowser } from '../../models/trusted-browser.ts'
import { User } from '../../models/user.ts'
import { getApp } from '../apps/apps.ts'
import { recordEvent } from '../audit/record-event.ts'
import { addNotice } from '../mail/request-mail.ts'
import { assertMayHelp } from '../users/administration.ts'
import { getUser, lockUser } from '../users/users.ts'

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
type WithoutSecondFactor = z.output<typeof withoutSecondFactor>

export const reportPage = page(withoutSecondFactor)

/** Removes a user's second factor on behalf of an admin. Throws `not_found`, also if none is active. */
export async function removeSecondFactor(deps: Deps<Pool>, userId: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    await lockUser(deps, userId)
    await assertMayHelp(deps, userId, actor)
    const user = await getUser(deps, userId)
    if (!(await deleteSecondFactor(deps, user.id))) throw new ApiError('not_found', { detail: 'The user has no second factor' })
    await addNotice(deps, 'two_factor_removed', { user }, actor)
    await recordEvent(deps, { event: 'two_factor.removed', actor, userId: user.id })
  })
}

/** Deletes the second factor with its recovery codes, even if its setup is not complete. Returns whether it was active. */
export async function clearSecondFactor(deps: Deps<Tx>, userId: string): Promise<boolean> {
  const wasActive = await deleteSecondFactor(deps, userId)
  await SecondFactor.query(deps.db).deleteById(userId)
  return wasActive
}

/** Deletes a second factor that was set up or activated since then, with its recovery codes. Returns whether it was active. */
export async function clearSecondFactorSince(deps: Deps<Tx>, userId: string, since: number): Promise<boolean> {
  const factor = await SecondFactor.query(deps.db).findById(userId)
  if (!factor || Math.max(factor.created_at, factor.activated_at ?? 0) < since) return false
  return clearSecondFactor(deps, userId)
}

/**
 * Deletes the active second factor with its recovery codes, and the trust of browsers. Returns false if there was none. Needs a
 * transaction.
 */
export async function deleteSecondFactor(deps: Deps<Tx>, userId: string): Promise<boolean> {
  const active = SecondFactor.list(deps.db, { user_id: userId }).whereNotNull('activated_at')
  const wasActive = (await active.delete()) > 0
  if (wasActive) {
    await RecoveryCode.remove(deps.db, { user_id: userId })
    await TrustedBrowser.remove(deps.db, { user_id: userId })
  }
  return wasActive
}

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
