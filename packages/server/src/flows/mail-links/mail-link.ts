import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { PagePlace } from '../../lib/html.ts'
import { hashOpaqueToken } from '../../lib/random.ts'
import { matchesRedirectUrl } from '../../lib/redirect-url.ts'
import { App } from '../../models/app.ts'
import { MailToken } from '../../models/mail-token.ts'
import { placeOf } from '../../pages/place.ts'
import type { PageTexts } from '../../pages/texts/page-texts.ts'
import { type Reader, textsFor } from '../../pages/texts/texts-for.ts'
import { getApp } from '../../resources/apps/apps.ts'
import { getMailToken, type TokenPurpose } from '../../resources/mail/mail-tokens.ts'
import { requestMail } from '../../resources/mail/request-mail.ts'
import { getUser } from '../../resources/users/users.ts'
import { confirmEmailChange, verifyEmail } from '../email/email.ts'
import { resetPassword } from '../password/password.ts'
import type { ConfirmForm, NewPasswordForm } from './schema.ts'

// These pages do what the API does.
export { disownEmail, undoEmailChange } from '../email/email.ts'
export { secureAccount } from '../password/password.ts'
export { confirmDeletion } from '../profile/profile.ts'

const minuteMs = 60_000

/** What a page may show to the holder of a mail link. */
export interface MailLink {
  texts: PageTexts
  app: PagePlace
  /** Whether the account has a password, which proves whose it is. */
  asksPassword: boolean
  /** The address that the mail was sent to. */
  email: string
  /** The address that the account would get, if the mail asks for that at the present one. */
  newEmail: string | null
  /**
   * Where the user continues: the URL that the request for the mail named, if the app still allows it. Never taken from the link.
   */
  redirectUrl: string | null
  /** A whole number, at least 1. */
  minutesLeft: number
}

/** Reads a token without spending it. Throws `invalid_token`, whatever is wrong with it. */
export async function describeMailLink(
  deps: Deps,
  token: string,
  reader: Reader,
  ...purposes: TokenPurpose[]
): Promise<MailLink> {
  const found = await getMailToken(deps, token, ...purposes)
  const { email, new_email: newEmail, app_id: appId, redirect_url: asked, expires_at: expiresAt } = found
  const app = await getApp(deps, appId)
  const isAllowed = asked !== null && matchesRedirectUrl(asked, app.allowed_redirect_urls)
  const minutesLeft = Math.ceil((expiresAt - deps.clock()) / minuteMs)
  const user = await getUser(deps, found.user_id)
  const asksPassword = user.password_hash !== null
  const place = placeOf(deps.config, app)
  const texts = textsFor({ ...reader, locale: user.locale, place })
  return { texts, app: place, asksPassword, email, newEmail, redirectUrl: isAllowed ? asked : null, minutesLeft }
}

/** What the mails that lead to one page are for. */
export type MailPurposes = readonly TokenPurpose[]

export function isOfDeadLink(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'invalid_token'
}

/** The app of a link that no longer works, for the page that says so. Undefined for a token that was never one of these. */
export async function findPlaceOfLink(deps: Deps, token: string, purposes: MailPurposes): Promise<PagePlace | undefined> {
  const known = MailToken.find(deps.db, { token_hash: hashOpaqueToken(token) }).whereIn('purpose', [...purposes])
  const { app_id: appId } = (await known.select('app_id')) ?? {}
  const app = appId === undefined ? undefined : await App.find(deps.db, { id: appId })
  return app && placeOf(deps.config, app)
}

/**
 * Verifies the address of a link, with the password if the account has one. A reader who does not know it gets a mail to set
 * another instead, and the link stays good. Throws `invalid_token`. A missing or wrong password throws what it throws at a login,
 * and leaves the token unspent.
 */
export async function confirmEmail(
  deps: Deps<Pool>,
  link: MailLink,
  form: ConfirmForm,
  actor: Actor,
): Promise<'confirmed' | 'reset_mailed'> {
  const { email, app, redirectUrl } = link
  if (form.forgot !== '') {
    const mail = { email, app_code: app.code, redirect_url: redirectUrl ?? undefined }
    await requestMail(deps, 'reset_password', mail, actor)
    return 'reset_mailed'
  }
  const code = form.two_factor_code.trim() || undefined
  await verifyEmail(deps, { token: form.token, password: passwordOf(link, form), two_factor_code: code }, actor)
  return 'confirmed'
}

/**
 * Confirms the new address of a link with the password, or allows a change at the present address. Throws what
 * `confirmEmailChange` throws.
 */
export async function confirmChange(deps: Deps<Pool>, link: MailLink, form: ConfirmForm, actor: Actor): Promise<void> {
  const password = link.newEmail === null ? passwordOf(link, form) : undefined
  await confirmEmailChange(deps, { token: form.token, password }, actor)
}

/** The password that a link asks for. Undefined for an account that has none. */
function passwordOf({ asksPassword }: MailLink, { password }: ConfirmForm): string | undefined {
  if (asksPassword && password === '') throw fieldError('password', 'required', 'is required')
  return asksPassword ? password : undefined
}

/**
 * Sets the password from the form. The form asks for it twice, since a page without scripts cannot show what was typed. Throws
 * `invalid_token`, and `validation_failed`, which leaves the token unspent.
 */
export async function choosePassword(
  deps: Deps<Pool>,
  { token, password, password_again: again }: NewPasswordForm,
  actor: Actor,
): Promise<void> {
  if (again !== password) throw fieldError('password_again', 'invalid_value', 'does not match the first one')
  await resetPassword(deps, { token, password }, actor)
}

/**
 * The URL at which a browser hands the token of a magic link to the app, which spends it (`POST /auth/magic-link/consume`). The
 * page spends nothing, since it cannot keep tokens. Replaces any `token` in the redirect URL: an attacker may have put one there,
 * which would log the reader in as the attacker.
 */
export function withLoginToken(redirectUrl: string, token: string): string {
  const url = new URL(redirectUrl)
  url.searchParams.set('token', token)
  return url.href
}
