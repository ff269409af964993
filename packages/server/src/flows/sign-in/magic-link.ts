import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { HalfProof, Proof } from '../../lib/proof.ts'
import { hashOpaqueToken } from '../../lib/random.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import { App } from '../../models/app.ts'
import { MailToken, type SpendableToken } from '../../models/mail-token.ts'
import { RefreshToken } from '../../models/refresh-token.ts'
import { SsoLogin } from '../../models/sso-login.ts'
import { claimByMailbox, findClaimable } from '../../resources/account-claims/claim-accounts.ts'
import { getMailToken, invalidToken, spendMailToken } from '../../resources/mail/mail-tokens.ts'
import { findUserInPools, verifyAddress } from '../../resources/users/find-users.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { getUser, lockUserRow } from '../../resources/users/users.ts'
import { byToken, type CountedAttempt, withAttempt } from './attempt.ts'
import { enter } from './enter.ts'
import { firstFactor, passSecondFactor, proofOfClaimed } from './prove.ts'
import { holdsAccount } from './prove-again.ts'
import type { ConsumeMagicLinkInput } from './schema.ts'
import { openField } from './sealed-fields.ts'

/** The model for each body field that can hold a token: a refresh token, the token of a mail, the code of a third-party login. */
const kinds = { refresh_token: RefreshToken, token: MailToken, code: SsoLogin }

/**
 * The code of the app that a token belongs to, even if the token is dead. A `request_id` names the app for which a code was mailed.
 * Undefined if the token is unknown or has no app.
 */
export async function findAppOfToken(
  deps: Deps,
  kind: keyof typeof kinds | 'request_id',
  token: string,
): Promise<string | undefined> {
  if (kind !== 'request_id') return (await kinds[kind].findApp(deps.db, hashOpaqueToken(token)))?.code
  const asked = openField(deps, 'email_code', '', token)
  return asked && (await App.find(deps.db, { id: asked.appId }))?.code
}

interface MagicLogin {
  tokens: TokenAnswer
  /** Where the user continues. The app allowed this URL when the mail was requested. */
  redirectUrl: string | null
}

/**
 * Logs in with the token of a mail instead of the password. Everything else is as at a login: a separate limit, the second factor
 * with its lockout, and the gate. A failed attempt leaves the token unspent. Verifies the address, and claims an unproven
 * account unless the password of the account is given too, which proves it. A wrong password counts as a failed login. Throws
 * `invalid_token`, `invalid_credentials`, `rate_limited`, `account_locked`, `two_factor_required`, `invalid_two_factor_code` and
 * what the gate throws.
 */
export async function consumeMagicLink(deps: Deps<Pool>, input: ConsumeMagicLinkInput, actor: Actor): Promise<MagicLogin> {
  const found = await getMailToken(deps, input.token, 'magic_link')
  return enterByMail(deps, { found, method: 'magic_link', input }, actor)
}

/** The link of a mail was opened, or its code was typed. */
export type MailMethod = 'magic_link' | 'email_code'

/** The same, with a token that was found. */
export async function enterByMail(
  deps: Deps<Pool>,
  { found, method, input }: { found: SpendableToken; method: MailMethod; input: Omit<ConsumeMagicLinkInput, 'token'> },
  actor: Actor,
): Promise<MagicLogin> {
  const app = await App.find(deps.db, { id: found.app_id })
  if (!app) throw invalidToken()
  const { email, user_id, redirect_url: redirectUrl } = found
  // A claim would spend the token, so a password that was checked here is still that of the account when the token is spent.
  const isHolder = await holdsAccount(deps, { userId: user_id, appId: app.id }, { password: input.password }, actor)
  const tokens = await withAttempt(
    deps,
    {
      way: () => byToken(deps, email, method),
      target: { email, user: { id: user_id }, app },
    },
    actor,
    (_, counted) =>
      logInByMail(
        deps,
        {
          ...{ found, app, method, isHolder, code: input.two_factor_code, counted },
          finish: (deps, shown) => enter(deps, { app, client: undefined, overrides: {}, ...shown }, actor),
        },
        actor,
      ),
  )
  return { tokens, redirectUrl }
}

/** How a sign-in by a mail goes on: where the second factor comes from, and what the proof opens. */
interface MailLogin<R> {
  found: SpendableToken
  app: App
  method: string
  /** Whether the caller has shown the password of the account. */
  isHolder: boolean
  code: string | undefined
  counted: CountedAttempt
  /** The first factor, if it was shown in an earlier step. */
  halfOf?: ((user: PooledUser) => HalfProof<PooledUser>) | undefined
  finish(deps: Deps<Tx>, shown: { proof: Proof; user: PooledUser; counted: CountedAttempt }): Promise<R>
}

/** Logs in with a token that `getMailToken` has found. A failed attempt leaves it unspent. */
export async function logInByMail<R>(deps: Deps<Pool>, link: MailLogin<R>, actor: Actor): Promise<R> {
  const { found, app, method, isHolder, code, counted, halfOf, finish } = link
  // Pools may have changed since the mail. A user whom a login through the app would not find cannot use a link either.
  const before = await findUserInPools(deps, found.email, poolSet(app))
  if (before?.id !== found.user_id) throw invalidToken()
  // Spend the code before the transaction. An account that is about to be taken over needs none.
  const isClaim = !isHolder && (await findClaimable(deps, before)) !== undefined
  const half = halfOf?.(before) ?? firstFactor(deps, before, method)
  const proof = isClaim ? undefined : await passSecondFactor(deps, half, code, actor)
  const done = await transaction(deps, async (deps) => {
    await lockUserRow(deps, found.user_id)
    const account = isHolder ? undefined : await findClaimable(deps, await getUser(deps, found.user_id))
    // The account was proven, or its roles changed, since it was read. The token is still unspent, so start over.
    if ((account === undefined) !== (proof !== undefined)) return undefined
    const user = await spendMailToken(deps, found)
    const about = { actor, appId: app.id }
    if (proof) return finish(deps, { proof, user: await verifyAddress(deps, user, about), counted })
    const claimed = await claimByMailbox(deps, { account: account!, ...about })
    return finish(deps, { proof: proofOfClaimed(deps, claimed, method), user: claimed.user, counted })
  })
  return done ?? logInByMail(deps, link, actor)
}
