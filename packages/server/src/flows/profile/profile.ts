import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, refuseChanged } from '../../errors.ts'
import type { Actor, Caller, OwnCaller, PersonCaller, RequestOrigin, UserCaller } from '../../lib/caller.ts'
import { locale, name, passwordProofFields } from '../../lib/fields.ts'
import { appRefRecord, organizationRecord, shownLocale, userRecord } from '../../lib/records.ts'
import { changedMembers, type SentBack } from '../../lib/sent-back.ts'
import { looksLikeServiceToken } from '../../lib/service-token.ts'
import { wordsIn } from '../../lib/words.ts'
import { mailToken } from '../../mail/fields.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { presentAppRef } from '../../resources/apps/present.ts'
import { readCatalog } from '../../resources/catalog/catalog.ts'
import { addTokenMail } from '../../resources/mail/compose-mail.ts'
import { getMailToken, invalidToken, spendMailToken } from '../../resources/mail/mail-tokens.ts'
import { addNotice } from '../../resources/mail/request-mail.ts'
import { takeAttempt } from '../../resources/rate-limits/rate-limits.ts'
import { authenticateCaller, callerWithToken, ofPublicApp } from '../../resources/sessions/authenticate-caller.ts'
import { resolveRights } from '../../resources/sessions/rights.ts'
import {
  lockOwner,
  lockSelf,
  membershipsIn,
  readSelf,
  type SelfCaller,
  userOfSelf,
} from '../../resources/sessions/user-sessions.ts'
import { closeAccount } from '../../resources/user-deletions/user-deletions.ts'
import { type PooledUser, presentUser } from '../../resources/users/present.ts'
import { applyChanges, getUser } from '../../resources/users/users.ts'
import { requireFreshProof } from '../sign-in/prove-again.ts'

/** A user's own account, as the user sees it. */
export const profile = z
  .object({
    user: userRecord,
    app: appRefRecord.nullable(),
    roles: z.array(z.string()),
    permissions: z.array(z.string()),
    organizations: z.array(organizationRecord),
    locale: shownLocale,
    two_factor: z.boolean().meta({ description: 'Whether a second factor is active' }),
  })
  .meta({ id: 'Profile' })
export type Profile = z.output<typeof profile>

/** A user who empties the field of a form clears it. */
function ownField<T extends z.ZodType>(schema: T, description = '') {
  return z
    .preprocess((value) => (typeof value === 'string' && value.trim() === '' ? null : value), schema.nullable())
    .optional()
    .meta({ description: `${description}null or blank text clears it` })
}

export const updateSelfBody = z
  .strictObject({
    first_name: ownField(name),
    last_name: ownField(name),
    locale: ownField(locale, 'The language that you read, as a BCP 47 tag such as `de` or `pt-BR`. '),
  })
  .meta({ id: 'UpdateProfile' })
type UpdateSelfInput = z.output<typeof updateSelfBody>

export const deleteSelfBody = z.strictObject(passwordProofFields).meta({ id: 'DeleteOwnAccount' })
type DeleteSelfInput = z.output<typeof deleteSelfBody>
export const deletionMailed = z.object({})
export const confirmDeletionBody = z.object({ token: mailToken }).meta({ id: 'ConfirmDeletion' })

export type { SelfCaller }

/** Like `authenticateCaller`, but also reads the user's data in the same statement: a second one would slow the call down. */
export async function authenticateSelf(deps: Deps, bearer: string): Promise<Caller | SelfCaller> {
  if (looksLikeServiceToken(bearer)) return authenticateCaller(deps, bearer)
  return ofPublicApp(await callerWithToken(deps, bearer, (claims) => readSelf(deps, claims)))
}

/** The caller's current account, with the roles and permissions that a new token of this session would get. */
export async function describeSelf(deps: Deps, caller: SelfCaller): Promise<Profile> {
  const [self] = caller.rows
  const catalog = await readCatalog(deps, caller.catalogGeneration)
  const app = caller.appId === null ? null : ((await catalog.findApp({ id: caller.appId })) ?? null)
  const organizations = membershipsIn(caller)
  const membership = organizations.find((organization) => organization.id === caller.claims.org_id) ?? null
  const globalRoles = wordsIn(self.global_roles)
  const user = userOfSelf(caller)
  const { roles, permissions } = await resolveRights(deps, { app, membership, globalRoles, catalog })
  return {
    user: presentUser(user),
    app: app ? presentAppRef(app) : null,
    roles,
    permissions: [...permissions],
    organizations,
    locale: user.locale,
    two_factor: Boolean(self.has_factor),
  }
}

/** How often a user may change the names and the locale: each change is audited for good. */
const profileWrites = { count: 60, seconds: 60 }

/**
 * Changes the names and the locale of the caller's account, and returns what `describeSelf` returns. Reads the session again under
 * the lock of the user's row, so a user who was suspended or deleted in the meantime changes nothing. Throws `rate_limited`,
 * `token_revoked`, and what `refuseChanged` throws.
 */
export async function updateSelf(
  deps: Deps<Pool>,
  input: UpdateSelfInput,
  sentBack: SentBack,
  actor: { caller: UserCaller; origin: RequestOrigin },
): Promise<Profile> {
  await takeAttempt(deps, `profile-writes:${actor.caller.userId}`, profileWrites)
  return transaction(deps, async (deps) => {
    const before = await lockSelf(deps, actor.caller)
    if (Object.keys(sentBack).length > 0) {
      const shown = await describeSelf(deps, before)
      refuseChanged(changedMembers(sentBack, { ...shown.user, ...shown }))
    }
    await applyChanges(deps, userOfSelf(before), input, actor)
    return describeSelf(deps, await readSelf(deps, actor.caller.claims))
  })
}

/** The same on the account page. Throws `rate_limited`, and `token_revoked` if the browser session ended in the meantime. */
export async function updateOnPage(deps: Deps<Pool>, input: UpdateSelfInput, caller: PersonCaller, actor: Actor): Promise<void> {
  await takeAttempt(deps, `profile-writes:${caller.userId}`, profileWrites)
  await transaction(deps, async (deps) => {
    await lockOwner(deps, caller)
    await applyChanges(deps, await getUser(deps, caller.userId), input, actor)
  })
}

/**
 * Deletes the caller's account as an admin would, and notifies its address. An account without a password is deleted by a link
 * that is mailed to its address instead, unless its user is on the account page and has just signed in there. Throws what
 * `requireFreshProof` throws, `last_system_admin`, `token_revoked` if the session ended in the meantime, and `app_code_required` if
 * there is no app that a mail could name.
 */
export async function deleteSelf(
  deps: Deps<Pool>,
  { password, two_factor_code: code }: DeleteSelfInput,
  caller: OwnCaller,
  actor: Actor,
): Promise<'deleted' | 'mailed'> {
  const { userId, appId } = caller
  const { email, password_hash: hash, token_version: tokenVersion } = await getUser(deps, userId)
  const factor = await SecondFactor.findActive(deps.db, userId)
  await requireFreshProof(deps, { caller, factor, password, code, asksPassword: hash !== null }, actor)
  if (hash !== null || caller.sessionId === null) {
    await transaction(deps, async (deps) => {
      await lockOwner(deps, caller)
      await close(deps, await getUser(deps, userId), appId, actor)
    })
    return 'deleted'
  }
  if (appId === null) throw new ApiError('app_code_required', { detail: 'Sign in through an app: the mail names it' })
  const mail = { purpose: 'delete_account', email, appId, userId, tokenVersion } as const
  await transaction(deps, (deps) => addTokenMail(deps, mail, actor.origin))
  return 'mailed'
}

/** Deletes an account with the token of the mail that its user asked for. Throws `invalid_token`, `last_system_admin`. */
export async function confirmDeletion(deps: Deps<Pool>, token: string, actor: Actor): Promise<void> {
  const found = await getMailToken(deps, token, 'delete_account')
  await transaction(deps, async (deps) => {
    const user = await spendMailToken(deps, found)
    if (user.status !== 'active') throw invalidToken()
    await close(deps, user, found.app_id, actor)
  })
}

async function close(deps: Deps<Tx>, user: PooledUser, appId: string | null, actor: Actor): Promise<void> {
  await addNotice(deps, 'account_deleted', { user, appId }, actor)
  await closeAccount(deps, user.id, actor)
}
