import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { hashLineOf } from '../../lib/hash-line.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { Proof } from '../../lib/proof.ts'
import { hashOpaqueToken, newOpaqueToken, TOKEN_PREFIXES } from '../../lib/random.ts'
import { SpentField } from '../../models/spent-field.ts'
import type { KeptTrust } from '../../models/trusted-browser.ts'
import { User } from '../../models/user.ts'
import { findBrowserSession } from '../../resources/sessions/browser-sessions.ts'
import { findUserInPools } from '../../resources/users/find-users.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { byToken, type CountedAttempt, withAttempt } from '../sign-in/attempt.ts'
import { passwordAttempt, upgradeHash, verifyPassword } from '../sign-in/login.ts'
import { findPasskey, provePasskey, type TriedPasskey } from '../sign-in/passkey.ts'
import { firstFactor, firstFactorOf, passSecondFactor } from '../sign-in/prove.ts'
import { type FirstFactorTicket, ticketLifeMs } from '../sign-in/sealed-fields.ts'
import { type BrowserSignIn, type SignedInBrowser, signInBrowser } from '../sign-in/sign-in-browser.ts'
import type { AuthorizationRequest } from './authorization-request.ts'

/** A browser in the middle of an authorization request. */
export interface Journey {
  request: AuthorizationRequest
  /** The secrets of its cookies. */
  browser: string
  secret: string | undefined
  device: string | undefined
  /** The trust that it has at the app. */
  trust: KeptTrust | undefined
  /** Set if the person does not want to be asked for the second factor here again. */
  trusting: { before: string | undefined } | undefined
}

/** The person is signed in, or has still to show the second factor. */
export type SignInOutcome = { signedIn: SignedInBrowser } | { ticket: FirstFactorTicket }

/** Signs in with a password. Throws what a login throws before the gate. */
export async function signInByPassword(
  deps: Deps<Pool>,
  journey: Journey,
  { email, password, isKept }: { email: string; password: string; isKept: boolean },
  actor: Actor,
): Promise<SignInOutcome> {
  const { app } = journey.request
  let ticket: FirstFactorTicket | undefined
  const attempt = passwordAttempt(deps, { email, password, device_token: journey.device }, app)
  try {
    return await withAttempt(deps, attempt, actor, async ({ user: named }, counted) => {
      const line = hashLineOf(actor, counted.way.device)
      const user = await verifyPassword(deps, password, named, line)
      if (user.status !== 'active') throw new ApiError('account_suspended')
      const half = { ...firstFactor(deps, user, 'password'), trust: journey.trust }
      if (user.factor) ticket = ticketOf(half, isKept)
      // Without a code this throws if the user has a second factor, as at a login, so both are limited and audited alike.
      const proof = await passSecondFactor(deps, half, undefined, actor)
      const upgradedHash = await upgradeHash(deps, password, user, line)
      return { signedIn: await complete(deps, journey, { proof, user, counted, isKept, upgradedHash }, actor) }
    })
  } catch (error) {
    if (ticket && error instanceof ApiError && error.code === 'two_factor_required') return { ticket }
    throw error
  }
}

/**
 * Signs in with a passkey, which is both factors. Whom it belongs to is known only from the answer of the browser, so that counts the
 * attempt. Throws `invalid_passkey`, and what a login throws before the gate.
 */
export async function signInByPasskey(
  deps: Deps<Pool>,
  journey: Journey,
  { sent, field, isKept }: { sent: string; field: string; isKept: boolean },
  actor: Actor,
): Promise<SignInOutcome> {
  const { request, browser } = journey
  const attempt = {
    named: { email: '', app: request.app },
    target: () => findPasskey(deps, { sent, field, browser, app: request.app }),
    way: (target: TriedPasskey | undefined) => byToken(deps, target?.email ?? '', 'passkey'),
  }
  return withAttempt(deps, attempt, actor, async (found, counted) => {
    const proof = await provePasskey(deps, found, actor)
    return { signedIn: await complete(deps, journey, { proof, user: found.user, counted, isKept }, actor) }
  })
}

/** The ticket for the second step. */
export function ticketOf(
  { user, method, firstProvenAt }: { user: PooledUser; method: string; firstProvenAt: number },
  isKept: boolean,
): FirstFactorTicket {
  const { id: userId, email, token_version: version } = user
  return {
    id: newOpaqueToken(TOKEN_PREFIXES.browser),
    userId,
    email,
    version,
    method,
    firstProvenAt,
    isKept,
  }
}

/**
 * The second step of a sign-in: an attempt of its own, under the limit of the way that the first one took. A ticket is good for five
 * minutes and one sign-in. Throws `invalid_token` for a ticket that is over, and what `passSecondFactor` throws.
 */
export async function signInBySecondFactor(
  deps: Deps<Pool>,
  journey: Journey,
  { ticket, code }: { ticket: FirstFactorTicket; code: string },
  actor: Actor,
): Promise<SignInOutcome> {
  const { app } = journey.request
  const { email, isKept } = ticket
  const user = await findUserInPools(deps, email, poolSet(app))
  if (!user || !isGoodFor(deps, ticket, user)) throw new ApiError('invalid_token')
  const prove = async (counted: CountedAttempt) => {
    const proof = await passSecondFactor(deps, firstFactorOf(ticket, user), code, actor)
    return { signedIn: await complete(deps, journey, { proof, user, counted, isKept, ticket }, actor) }
  }
  const attempt = passwordAttempt(deps, { email, password: '', device_token: journey.device }, app)
  return withAttempt(deps, attempt, actor, async (_, counted) => prove(counted))
}

interface Completed {
  proof: Proof
  user: PooledUser
  counted: CountedAttempt
  isKept: boolean
  upgradedHash?: string | undefined
  ticket?: FirstFactorTicket
}

async function complete(
  deps: Deps<Pool>,
  journey: Journey,
  { upgradedHash, ...completed }: Completed,
  actor: Actor,
): Promise<SignedInBrowser> {
  const before = await findBrowserSession(deps, journey.secret)
  return transaction(deps, async (deps) => {
    const signedIn = await signInHere(deps, journey, { ...completed, before }, actor)
    if (upgradedHash !== undefined) await User.replaceHash(deps.db, completed.user, upgradedHash)
    return signedIn
  })
}

/** Signs the person in in the browser of the page. Spends the ticket of the first factor, if there is one. */
export async function signInHere(
  deps: Deps<Tx>,
  { request: { app }, device, trusting }: Journey,
  { ticket, ...shown }: Omit<BrowserSignIn, 'app' | 'device' | 'trusting'> & { ticket?: FirstFactorTicket | undefined },
  actor: Actor,
): Promise<SignedInBrowser> {
  if (ticket) await spendTicket(deps, ticket)
  return signInBrowser(deps, { ...shown, app, device, trusting }, actor)
}

/** Whether the ticket of a first factor still holds for a user, as the user is now. */
export function isGoodFor(deps: Deps, ticket: FirstFactorTicket, user: PooledUser): boolean {
  const isInTime = deps.clock() - ticket.firstProvenAt <= ticketLifeMs
  return isInTime && user.id === ticket.userId && user.min_token_version <= ticket.version
}

/** Throws `invalid_token` for a ticket that was used. */
async function spendTicket(deps: Deps<Tx>, ticket: FirstFactorTicket): Promise<void> {
  const row = { hash: hashOpaqueToken(ticket.id), expires_at: ticket.firstProvenAt + ticketLifeMs }
  if (!(await SpentField.spend(deps.db, row))) throw new ApiError('invalid_token')
}
