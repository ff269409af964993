import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { deviceOf } from '../../lib/device-token.ts'
import type { Proof } from '../../lib/proof.ts'
import type { App } from '../../models/app.ts'
import type { LiveBrowserSession } from '../../models/browser-session.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { User } from '../../models/user.ts'
import { readCatalog } from '../../resources/catalog/catalog.ts'
import { addTokenMail } from '../../resources/mail/compose-mail.ts'
import { keepInBrowser } from '../../resources/sessions/browser-sessions.ts'
import { newDeviceTokenOf } from '../../resources/sessions/open-session.ts'
import { trustBrowser } from '../../resources/trusted-browsers/trusted-browsers.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { getUser, lockUserRow } from '../../resources/users/users.ts'
import { type CountedAttempt, closeAttempt } from './attempt.ts'

/** Somebody has signed in in a browser: the values of its cookies. */
export interface SignedInBrowser {
  secret: string
  isKept: boolean
  deviceToken: string
  trust: { value: string; seconds: number } | undefined
}

/** Somebody who signs in at this service in a browser. */
export interface BrowserSignIn {
  proof: Proof
  user: PooledUser
  counted: CountedAttempt | undefined
  /** Who is signed in there so far. Another person's browser session ends; one of the same person goes on under a new secret. */
  before: LiveBrowserSession | undefined
  /** Whether the person stays signed in when the browser closes. */
  isKept: boolean
  /** The app that they sign in for. */
  app: App
  /** The device token of the browser. */
  device: string | undefined
  /** Set if the browser is to be trusted from now on; holds the secret of a former trust. */
  trusting: { before: string | undefined } | undefined
  /** When the person signed in at a provider, in milliseconds: what was shown there may be older than its answer. */
  provenAt?: number
}

/**
 * Signs a person in at this service, and returns the secret of the browser session and a device token. It opens no app: every app
 * asks the gate. Clears failures and gives the attempt back, as every complete sign-in does. Throws `account_suspended`,
 * `two_factor_required` if a factor was activated meanwhile, `invalid_credentials` if the sessions of the user were ended
 * meanwhile, and `account_locked`.
 */
export async function signInBrowser(
  deps: Deps<Tx>,
  { proof, user, counted, before, isKept, app, device, trusting, provenAt = proof.firstProvenAt }: BrowserSignIn,
  actor: Actor,
): Promise<SignedInBrowser> {
  if (proof.userId !== user.id) throw new Error('another user was proven')
  await lockUserRow(deps, user.id)
  const current = await getUser(deps, user.id)
  if (current.status === 'deleted' || current.min_token_version > proof.version) throw new ApiError('invalid_credentials')
  if (current.status !== 'active') throw new ApiError('account_suspended')
  const factor = await SecondFactor.findActive(deps.db, user.id)
  if (factor && proof.second?.activatedAt !== (factor.activated_at ?? 0)) throw new ApiError('two_factor_required')
  const minIat = await (await readCatalog(deps)).getMinIat()
  const owner = { ...current, factor_activated_at: factor?.activated_at ?? null }
  const { encryptionKeys } = deps.config
  const isKnown = device !== undefined && deviceOf(encryptionKeys, device, owner, { now: deps.clock(), minIat }) !== undefined
  if (!isKnown && (await User.noteNewSignIn(deps.db, user.id, deps.clock())))
    await addTokenMail(deps, { purpose: 'new_sign_in', email: current.email, appId: app.id, userId: user.id }, actor.origin)
  const secret = await keepInBrowser(deps, { proof: { ...proof, firstProvenAt: provenAt }, before, isKept }, actor)
  if (counted) await closeAttempt(deps, proof, counted)
  const { second, version } = proof
  const isCode = second !== null && !second.isTrusted && proof.method !== 'passkey'
  const trust =
    trusting && isCode ? await trustBrowser(deps, { userId: user.id, version, second, ...trusting }, actor) : undefined
  return { secret, isKept, deviceToken: newDeviceTokenOf(deps, { user: current, minIat }, second?.activatedAt ?? null), trust }
}
