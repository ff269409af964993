import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Proof } from '../../lib/proof.ts'
import { hashOpaqueToken, randomText } from '../../lib/random.ts'
import { type Assertion, PasskeyError, readAssertion, relyingPartyOf, verifyAssertion } from '../../lib/web-authn.ts'
import { Passkey, type PasskeyRow } from '../../models/passkey.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { SpentField } from '../../models/spent-field.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { readCatalog } from '../../resources/catalog/catalog.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { getUser } from '../../resources/users/users.ts'
import type { AttemptTarget } from './attempt.ts'
import { proofOfPasskey } from './prove.ts'
import { challengeLifeMs, openField, sealField } from './sealed-fields.ts'

/**
 * A challenge for an authenticator, to be sealed. After the restore of a backup its time is slightly ahead, so that
 * `spendChallenge` can tell it from one of before.
 */
export async function newChallenge(deps: Deps): Promise<{ challenge: string; sealedAt: number }> {
  const minIat = await (await readCatalog(deps)).getMinIat()
  return { challenge: randomText(32), sealedAt: Math.max(deps.clock(), minIat * 1000) }
}

/** What a page needs to ask the browser for a passkey. */
export interface PasskeyRequest {
  /** For the script of the page: the options of `navigator.credentials.get`. */
  options: { challenge: string; rpId: string; timeout: number }
  /** The same challenge, sealed for the browser. The form sends it back. */
  field: string
}

/** Undefined where passkeys do not work. Nothing is stored. */
export async function askForPasskey(deps: Deps, browser: string): Promise<PasskeyRequest | undefined> {
  const party = relyingPartyOf(deps.config.publicUrl)
  if (!party) return undefined
  const asked = await newChallenge(deps)
  const options = { challenge: asked.challenge, rpId: party.id, timeout: challengeLifeMs }
  return { options, field: sealField(deps, 'passkey', browser, asked) }
}

/**
 * Spends a challenge, whatever comes of it: each is good for one try within five minutes. One from before the restore of a backup
 * is refused, since the database has forgotten what was spent. Throws `invalid_token`.
 */
export async function spendChallenge<T extends { challenge: string; sealedAt: number }>(
  deps: Deps<Pool>,
  sealed: T | undefined,
): Promise<T> {
  const minIat = await (await readCatalog(deps)).getMinIat()
  const isInTime = sealed && deps.clock() - sealed.sealedAt <= challengeLifeMs && sealed.sealedAt >= minIat * 1000
  if (!isInTime) throw new ApiError('invalid_token')
  const row = { hash: hashOpaqueToken(sealed.challenge), expires_at: sealed.sealedAt + challengeLifeMs }
  const isFirst = await transaction(deps, (deps) => SpentField.spend(deps.db, row))
  if (!isFirst) throw new ApiError('invalid_token')
  return sealed
}

/** A passkey that was found by what its authenticator answered. Nothing of it is proven yet. */
export interface TriedPasskey extends AttemptTarget {
  user: PooledUser
  passkey: PasskeyRow
  answer: Assertion
  challenge: string
}

/** Finds the passkey of an answer. Throws `invalid_passkey`, and `invalid_token` for a challenge that was spent or is too old. */
export async function findPasskey(
  deps: Deps<Pool>,
  { sent, field, browser, app }: { sent: string; field: string; browser: string; app: { id: string } | null },
): Promise<TriedPasskey> {
  const { challenge } = await spendChallenge(deps, openField(deps, 'passkey', browser, field))
  const party = relyingPartyOf(deps.config.publicUrl)
  const answer = readOrRefuse(sent)
  const passkey = party && (await Passkey.find(deps.db, { credential_id: answer.id, rp_id: party.id }))
  if (!passkey) throw invalidPasskey('unknown')
  const user = await getUser(deps, passkey.user_id)
  if (user.status === 'deleted' || answer.response.userHandle !== passkey.user_handle) throw invalidPasskey('user_handle')
  return { email: user.email, user, app, passkey, answer, challenge }
}

function readOrRefuse(sent: string): Assertion {
  try {
    return readAssertion(sent)
  } catch (error) {
    throw refusalOf(error)
  }
}

function refusalOf(error: unknown): unknown {
  return error instanceof PasskeyError ? invalidPasskey(error.fault) : error
}

/** The detail goes into the audit. The page says the same of all of them. */
export function invalidPasskey(fault: string): ApiError {
  return new ApiError('invalid_passkey', { detail: fault })
}

/**
 * Proves who a person is by a passkey: both factors, since the device has verified the person. The counter is noted whatever comes
 * of the sign-in; one that has not grown may be a copy's. Throws `invalid_passkey`.
 */
export async function provePasskey(
  deps: Deps<Pool>,
  { passkey, answer, user, challenge }: TriedPasskey,
  actor: Actor,
): Promise<Proof> {
  const party = relyingPartyOf(deps.config.publicUrl)
  if (!party) throw invalidPasskey('unknown')
  // Read before the signature is judged: what changes later ends the proof.
  const factor = await SecondFactor.findActive(deps.db, user.id)
  const { id, credential_id: credentialId, public_key: publicKey, backup_eligible } = passkey
  const stored = { credentialId, publicKey, isBackupEligible: backup_eligible === 1 }
  const { signCount, isBackedUp } = await verifyAssertion(party, { answer, challenge }, stored).catch((error: unknown) => {
    throw refusalOf(error)
  })
  const used = { sign_count: signCount, backed_up: isBackedUp ? 1 : 0, last_used_at: deps.clock() }
  const isAhead = await transaction(deps, (deps) => Passkey.noteUse(deps.db, id, used))
  if (!isAhead) {
    const details = { id, sign_count: signCount }
    await recordEvent(deps, { event: 'passkey.counter_mismatch', actor, userId: user.id, details })
    throw invalidPasskey('counter')
  }
  return proofOfPasskey(deps, user, factor ? (factor.activated_at ?? 0) : null)
}
