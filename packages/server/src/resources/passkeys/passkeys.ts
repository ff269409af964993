import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, PersonCaller } from '../../lib/caller.ts'
import { id, page, timestamp } from '../../lib/fields.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { present } from '../../lib/records.ts'
import { newId } from '../../lib/uuid.ts'
import { type NewPasskey, relyingPartyOf } from '../../lib/web-authn.ts'
import { withPage } from '../../models/list-query.ts'
import { Passkey } from '../../models/passkey.ts'
import { TrustedBrowser } from '../../models/trusted-browser.ts'
import { recordEvent } from '../audit/record-event.ts'
import { addNotice } from '../mail/request-mail.ts'
import { lockOwner } from '../sessions/user-sessions.ts'
import { assertCanStillSignIn } from '../users/find-users.ts'
import type { PooledUser } from '../users/present.ts'
import { getUser, lockUserRow } from '../users/users.ts'

const passkeyRecord = z
  .object({
    id,
    name: z.string().meta({ description: 'Chosen by the user' }),
    rp_id: z.string().meta({ description: 'The host that it belongs to: it works only while that is the host of `PUBLIC_URL`' }),
    backed_up: z.boolean().meta({ description: 'Whether it is synchronized, so that the loss of a device does not lose it' }),
    created_at: timestamp,
    last_used_at: timestamp.nullable(),
  })
  .meta({ id: 'Passkey' })

export const passkeyPage = page(passkeyRecord)

export const mostPasskeys = 10

/** The passkeys of a user, newest first. Throws `not_found`. */
export async function listPasskeys(deps: Deps, userId: string, request: PageRequest): Promise<Page<Passkey>> {
  const { id } = await getUser(deps, userId)
  return withPage(Passkey.list(deps.db, { user_id: id }), request, 'passkeys.id')
}

/** The passkeys of a person on the account page, oldest first. */
export async function listOwnPasskeys(deps: Deps, userId: string): Promise<Passkey[]> {
  return Passkey.list(deps.db, { user_id: userId }).orderBy('id')
}

/** A passkey that was verified, with its owner. */
interface VerifiedPasskey {
  made: NewPasskey
  name: string
  rpId: string
  userHandle: string
}

/**
 * Adds a passkey. Throws `passkey_limit`, `passkey_exists` for a credential that this or another user has, `invalid_token` if the
 * person has begun twice at once, and `token_revoked` if the browser session has ended meanwhile.
 */
export async function addPasskey(
  deps: Deps<Pool>,
  caller: PersonCaller,
  { made, name, rpId, userHandle }: VerifiedPasskey,
  actor: Actor,
): Promise<void> {
  await transaction(deps, async (deps) => {
    const user = await lockPerson(deps, caller)
    const others = await listOwnPasskeys(deps, user.id)
    if (others.length >= mostPasskeys) throw new ApiError('passkey_limit')
    // An authenticator keeps one passkey for each handle, so all of a user must have the same.
    if (others.some(({ user_handle }) => user_handle !== userHandle)) throw new ApiError('invalid_token')
    const now = deps.clock()
    const id = newId(now)
    const passkey = {
      ...{ id, user_id: user.id, name, rp_id: rpId, user_handle: userHandle, created_at: now },
      credential_id: made.credentialId,
      public_key: made.publicKey,
      sign_count: made.signCount,
      transports: JSON.stringify(made.transports),
      backup_eligible: made.isBackupEligible ? 1 : 0,
      backed_up: made.isBackedUp ? 1 : 0,
    }
    if ((await Passkey.insertNew(deps.db, [passkey], ['credential_id'])) === 0) throw new ApiError('passkey_exists')
    await TrustedBrowser.remove(deps.db, { user_id: user.id })
    await addNotice(deps, 'passkey_added', { user }, actor)
    await recordEvent(deps, { event: 'passkey.added', actor, userId: user.id, details: { id } })
  })
}

/** Throws `not_found`, and `token_revoked` as `addPasskey` does. */
export async function renamePasskey(
  deps: Deps<Pool>,
  caller: PersonCaller,
  { id, name }: { id: string; name: string },
): Promise<void> {
  await transaction(deps, async (deps) => {
    const user = await lockPerson(deps, caller)
    const renamed = await Passkey.update(deps.db, { id, user_id: user.id }, { name })
    if (renamed === 0) throw noSuchPasskey()
  })
}

/**
 * Removes a passkey of the person themselves. Sessions go on. Throws `not_found`, `token_revoked` as `addPasskey` does, and what
 * `assertCanStillSignIn` throws.
 */
export async function removeOwnPasskey(deps: Deps<Pool>, caller: PersonCaller, id: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    const user = await lockPerson(deps, caller)
    await remove(deps, user, id, actor)
    await assertCanStillSignIn(deps, user)
  })
}

/** Removes any passkey of a user, for an admin. Throws `not_found`. */
export async function removePasskey(
  deps: Deps<Pool>,
  { userId, passkeyId }: { userId: string; passkeyId: string },
  actor: Actor,
): Promise<void> {
  await transaction(deps, async (deps) => {
    await lockUserRow(deps, userId)
    await remove(deps, await getUser(deps, userId), passkeyId, actor)
  })
}

async function remove(deps: Deps<Tx>, user: PooledUser, id: string, actor: Actor): Promise<void> {
  const deleted = await Passkey.remove(deps.db, { id, user_id: user.id })
  if (deleted === 0) throw noSuchPasskey()
  await TrustedBrowser.remove(deps.db, { user_id: user.id })
  await addNotice(deps, 'passkey_removed', { user }, actor)
  await recordEvent(deps, { event: 'passkey.removed', actor, userId: user.id, details: { id } })
}

function noSuchPasskey(): ApiError {
  return new ApiError('not_found', { detail: 'The user has no such passkey' })
}

async function lockPerson(deps: Deps<Tx>, caller: PersonCaller): Promise<PooledUser> {
  await lockOwner(deps, caller)
  return getUser(deps, caller.userId)
}

/** How many passkeys belong to another host than ours: `PUBLIC_URL` has changed, so they work nowhere. */
export async function countPasskeysElsewhere(deps: Deps): Promise<number> {
  const host = relyingPartyOf(deps.config.publicUrl)?.id
  const passkeys = Passkey.query(deps.db)
  return (host === undefined ? passkeys : passkeys.whereNot({ rp_id: host })).resultSize()
}

/** A passkey as an admin sees it. Its key and its credential id are never shown. */
export function presentPasskey(passkey: Passkey): z.output<typeof passkeyRecord> {
  return present(passkeyRecord, { ...passkey, backed_up: passkey.backed_up === 1 })
}
