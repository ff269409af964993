import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, PersonCaller } from '../../lib/caller.ts'
import { hashLineOf } from '../../lib/hash-line.ts'
import type { Proof } from '../../lib/proof.ts'
import type { LiveBrowserSession } from '../../models/browser-session.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { giveBackAttempt } from '../../resources/rate-limits/take-attempt.ts'
import { limitUser } from '../../resources/rate-limits/take-by-address.ts'
import { type BrowserSecrets, keepInBrowser, newDeviceTokenFor } from '../../resources/sessions/browser-sessions.ts'
import { lockOwner } from '../../resources/sessions/read-self.ts'
import { userOf } from '../../resources/users/present.ts'
import { byToken, withAttempt } from './attempt.ts'
import { verifyPassword } from './login.ts'
import { findPasskey, invalidPasskey, provePasskey, type TriedPasskey } from './passkey.ts'
import { firstFactor, passSecondFactor } from './proof.ts'
import { passed, withCredentials } from './prove-again.ts'

type PersonActor = Actor & { caller: PersonCaller }

/**
 * Renews the proof of a browser session with the password of its person, and the second factor if one is active. Guesses are limited,
 * counted and audited like those of a logged-in user (`proveAgain`). Throws what that throws, `two_factor_required`, and
 * `token_revoked` if the session has ended meanwhile.
 */
export async function proveByPassword(
  deps: Deps<Pool>,
  live: LiveBrowserSession,
  { password, code }: { password: string; code: string | undefined },
  actor: PersonActor,
): Promise<BrowserSecrets> {
  await limitUser(deps, actor.caller)
  const user = userOf(live)
  const tried = { user, appId: null, sessionId: live.browser_session_id }
  const proof = await withCredentials(deps, tried, actor, async (counted) => {
    const known = await verifyPassword(deps, password, user, hashLineOf(actor))
    const proof = await passSecondFactor(deps, firstFactor(deps, known, 'password'), code, actor)
    await passed(deps, user, counted, code !== undefined)
    return proof
  })
  return keepProof(deps, live, proof, actor)
}

/** The same with a passkey of the person, which is both factors. Throws `invalid_passkey`, also for one of somebody else. */
export async function proveByPasskey(
  deps: Deps<Pool>,
  live: LiveBrowserSession,
  { sent, field, browser }: { sent: string; field: string; browser: string },
  actor: PersonActor,
): Promise<BrowserSecrets> {
  const attempt = {
    named: { email: '', app: null },
    target: () => findPasskey(deps, { sent, field, browser, app: null }),
    way: (target: TriedPasskey | undefined) => byToken(deps, target?.email ?? '', 'passkey'),
  }
  const proof = await withAttempt(deps, attempt, actor, async (found, { attempt }) => {
    if (found.user.id !== live.user_id) throw invalidPasskey('user_handle')
    const proof = await provePasskey(deps, found, actor)
    await giveBackAttempt(deps, attempt)
    return proof
  })
  return keepProof(deps, live, proof, actor)
}

async function keepProof(deps: Deps<Pool>, live: LiveBrowserSession, proof: Proof, actor: PersonActor): Promise<BrowserSecrets> {
  return transaction(deps, async (deps) => {
    await lockOwner(deps, actor.caller)
    const factor = await SecondFactor.findActive(deps.db, proof.userId)
    if (factor && proof.second?.activatedAt !== (factor.activated_at ?? 0)) throw new ApiError('two_factor_required')
    const isKept = live.is_kept === 1
    const secret = await keepInBrowser(deps, { proof, before: live, isKept }, actor)
    return { secret, isKept, deviceToken: await newDeviceTokenFor(deps, proof.userId) }
  })
}
