import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { hashOpaqueToken } from '../../lib/random.ts'
import type { SpendableToken } from '../../models/mail-token.ts'
import {
  getMailToken,
  getMailTokenByHash,
  invalidToken,
  type PageOfMail,
  spendMailToken,
} from '../../resources/mail/mail-tokens.ts'
import { queueMail } from '../../resources/mail/request-mail.ts'
import { findBrowserSession } from '../../resources/sessions/browser-sessions.ts'
import { verifyAddress } from '../../resources/users/find-users.ts'
import { userOf } from '../../resources/users/present.ts'
import { resetWith } from '../password/password.ts'
import { byToken, withAttempt } from '../sign-in/attempt.ts'
import { newCodeKey, passMailCode } from '../sign-in/email-code.ts'
import { knownDeviceOf } from '../sign-in/login.ts'
import { logInByMail, type MailMethod } from '../sign-in/magic-link.ts'
import { firstFactor, firstFactorOf } from '../sign-in/prove.ts'
import { type AskedMail, type FirstFactorTicket, sealField } from '../sign-in/sealed-fields.ts'
import { isGoodFor, type Journey, type SignInOutcome, signInByPassword, signInHere, ticketOf } from './credential-steps.ts'

/**
 * Mails a code and a link to an address. Known and unknown addresses get the same answer, after the same statements: the worker
 * finds out whether there is a recipient. `before` is the mail that this browser has asked for: without a free slot no other is sent, and
 * its code stays good.
 */
export async function askForMail(
  deps: Deps<Pool>,
  journey: Journey,
  { purpose, email }: Pick<AskedMail, 'purpose' | 'email'>,
  before: AskedMail | undefined,
  actor: Actor,
): Promise<{ mail: AskedMail }> {
  const { app } = journey.request
  const again = before?.purpose === purpose && before.email === email ? before : undefined
  const mail = { purpose, email, codeKey: newCodeKey() }
  const isQueued = await queueMail(deps, { purpose, email, app, page: pageOfMail(deps, journey, mail) }, actor)
  return { mail: isQueued ? mail : (again ?? mail) }
}

/** What a mail needs to know of the page that waits for it. */
export function pageOfMail(deps: Deps, { request: { query, begunAt }, browser }: Journey, { codeKey }: AskedMail): PageOfMail {
  const requestField = sealField(deps, 'request', browser, { query, begunAt, sealedAt: deps.clock() })
  return { browserHash: hashOpaqueToken(browser), requestField, codeKey }
}

/** What the person has brought from the mail: the code that they typed. Without one, the link was opened in this browser. */
interface FromMail {
  mail: AskedMail
  code: string
  isKept: boolean
}

/**
 * The token of the mail. Throws `account_locked`, `invalid_mail_code`, and `invalid_token` for a mail that is too old or was never
 * sent.
 */
async function tokenOf(
  deps: Deps<Pool>,
  journey: Journey,
  { mail, code }: Pick<FromMail, 'mail' | 'code'>,
  actor: Actor,
): Promise<SpendableToken> {
  const { purpose, email, codeKey, token } = mail
  if (token !== undefined) return ofBrowser(journey, await getMailToken(deps, token, purpose))
  const device = await knownDeviceOf(deps, { email, deviceToken: journey.device }, journey.request.app)
  const { app } = journey.request
  const typed = { email, codeKey, purpose, isKnownDevice: device !== undefined, app }
  return ofBrowser(journey, await passMailCode(deps, typed, code, actor))
}

function ofBrowser({ browser, request }: Journey, found: SpendableToken): SpendableToken {
  if (found.browser_hash !== hashOpaqueToken(browser) || found.app_id !== request.app.id) throw invalidToken()
  return found
}

/**
 * Sets a new password with a mail, and signs in with it. Throws `validation_failed` for the password, which leaves the mail good.
 */
export async function resetByMail(
  deps: Deps<Pool>,
  journey: Journey,
  { password, ...from }: FromMail & { password: string },
  actor: Actor,
): Promise<SignInOutcome> {
  const found = await tokenOf(deps, journey, from, actor)
  await resetWith(deps, found, password, actor)
  // The second factor stays on, so this may ask for its code.
  return signInByPassword(deps, journey, { email: found.email, password, isKept: from.isKept }, actor)
}

/**
 * Signs in with a mail. A failed attempt leaves it unspent, as does the first factor of a user who has a second one. Throws what
 * the consumption of a magic link throws before the gate.
 */
export async function signInByMail(
  deps: Deps<Pool>,
  journey: Journey,
  from: FromMail | { ticket: FirstFactorTicket; twoFactorCode: string },
  actor: Actor,
): Promise<SignInOutcome> {
  const { app } = journey.request
  const second = 'ticket' in from ? from : undefined
  const isKept = 'ticket' in from ? from.ticket.isKept : from.isKept
  const found =
    'ticket' in from
      ? ofBrowser(journey, await getMailTokenByHash(deps, from.ticket.mailTokenHash ?? '', 'magic_link'))
      : await tokenOf(deps, journey, from, actor)
  const method = 'ticket' in from ? methodOf(from.ticket) : from.mail.token === undefined ? 'email_code' : 'magic_link'
  const before = await findBrowserSession(deps, journey.secret)
  const { email, user_id: userId, token_hash: mailTokenHash } = found
  const attempt = { target: { email, user: { id: userId }, app }, way: () => byToken(deps, email, method) }
  let ticket: FirstFactorTicket | undefined
  try {
    const signedIn = await withAttempt(deps, attempt, actor, (_, counted) =>
      logInByMail(
        deps,
        {
          ...{ found, app, method, isHolder: false, code: second?.twoFactorCode, counted },
          halfOf(user) {
            if (!second) {
              const half = { ...firstFactor(deps, user, method), trust: journey.trust }
              ticket = { ...ticketOf(half, isKept), mailTokenHash }
              return half
            }
            if (!isGoodFor(deps, second.ticket, user)) throw invalidToken()
            return firstFactorOf(second.ticket, user)
          },
          finish: (deps, shown) => signInHere(deps, journey, { ...shown, before, isKept, ticket: second?.ticket }, actor),
        },
        actor,
      ),
    )
    return { signedIn }
  } catch (error) {
    if (ticket && error instanceof ApiError && error.code === 'two_factor_required') return { ticket }
    throw error
  }
}

function methodOf({ method }: FirstFactorTicket): MailMethod {
  return method === 'email_code' ? method : 'magic_link'
}

/** Verifies the address of the person who is signed in. They hold the account, as the browser session shows. */
export async function verifyByMail(
  deps: Deps<Pool>,
  journey: Journey,
  from: Pick<FromMail, 'mail' | 'code'>,
  actor: Actor,
): Promise<undefined> {
  const found = await tokenOf(deps, journey, from, actor)
  const live = await findBrowserSession(deps, journey.secret)
  const isWhole = live?.factor_activated_at === null || live?.second_activated_at === live?.factor_activated_at
  if (!live || userOf(live).id !== found.user_id || !isWhole) throw invalidToken()
  await transaction(deps, async (deps) => {
    const user = await spendMailToken(deps, found)
    if (user.status !== 'active' || user.min_token_version > live.version) throw invalidToken()
    await verifyAddress(deps, user, { actor, appId: found.app_id })
  })
}

/** The address of the person who is signed in, if the page still names the same one. */
export async function emailOfPerson(deps: Deps, { secret }: Journey, userId: string | undefined): Promise<string | undefined> {
  const live = await findBrowserSession(deps, secret)
  return live && live.user_id === userId ? userOf(live).email : undefined
}

/** A mail whose link was opened, by its token. Throws `invalid_token`. */
export async function getMailOfPage(deps: Deps, token: string): Promise<SpendableToken<AskedMail['purpose']>> {
  return getMailToken(deps, token, 'reset_password', 'magic_link', 'verify_email')
}
