import { errorCodes, isErrorCode } from '../../errors.ts'
import { type Html, html, type PagePlace, type PageView } from '../../lib/html.ts'
import { MIN_PASSWORD_CHARACTERS } from '../../lib/password.ts'
import { checkbox, type FormRefusal, field, generalFault, nameOf, shown, stepForm } from '../../pages/fields.ts'
import type { PageTexts } from '../../pages/texts/page-texts.ts'
import type { PasskeyRequest } from '../sign-in/passkey.ts'
import type { SaidRefusal } from '../sign-in/sealed-fields.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import type { Person } from './next-step.ts'
import { authorizePath } from './request-parameters.ts'

export const action = authorizePath

/** What a page of the sign-in shows, apart from the step itself. */
export interface Shown {
  texts: PageTexts
  request: AuthorizationRequest
  /** The app. */
  place: PagePlace
  /** The sealed request, and what the redirect before this page carried. Every form sends both. */
  hiddenFields: Readonly<Record<string, string>>
  said: SaidRefusal | undefined
  /** The seed of a second factor that the person is setting up. */
  pending: { secret: string; url: string } | undefined
  /** The address that was typed on the page before. */
  typed: string | undefined
  /** Where mails are written to, outside production and without SMTP. */
  mailFolder: string | undefined
  /** The organization that the invitation of the request is for. */
  inviting: string | undefined
  /** What the browser is asked to sign with a passkey. */
  passkey: PasskeyRequest | undefined
  /** The providers that the app can be entered by. */
  providers: readonly { code: string; issuer: string }[]
  /** For how many days the second factor need not be shown again in a browser. 0 where it always must. */
  trustDays: number
}

/** What a step shows, apart from what all pages have. */
export type Part = Pick<PageView, 'title' | 'body' | 'script'>

export const keepBox = ({ texts, said }: Shown) => checkbox('keep', texts.signIn.keep, said?.isKept === true)

export function quietForm(view: Shown, step: string, button: string, more: Readonly<Record<string, string>> = {}): Html {
  return stepForm({ action, hidden: { ...view.hiddenFields, ...more, step }, button, isQuiet: true })
}

export function emailField({ texts, said, typed, request }: Shown, refusal: FormRefusal | undefined): Html {
  const email = { name: 'email', label: texts.fields.email, type: 'email', autocomplete: 'username' } as const
  return field(texts, { ...email, value: said?.email || typed || request.loginHint || '' }, refusal)
}

export function newPasswordField(texts: PageTexts, label: string, refusal: FormRefusal | undefined): Html {
  const hint = texts.hints.newPassword(MIN_PASSWORD_CHARACTERS)
  return field(texts, { name: 'password', label, type: 'password', autocomplete: 'new-password', hint }, refusal)
}

export function signedInAs({ user }: Person, { texts }: Shown): Html {
  return html`<p>${texts.signIn.signedInAs(shown(user.email))}</p>\n`
}

export function anotherAccount(view: Shown): Html {
  return quietForm(view, 'another_account', view.texts.signIn.anotherAccount)
}

export function formRefusalOf(said: SaidRefusal | undefined): FormRefusal | undefined {
  if (!said || !isErrorCode(said.code)) return undefined
  const { code } = said
  const faults: FormRefusal['faults'] = {
    ...said.faults,
    ...(code === 'invalid_mail_code' ? { code: 'wrong' } : {}),
    ...(code === 'invalid_two_factor_code' ? { two_factor_code: 'wrong_or_used' } : {}),
  }
  const focus = code === 'invalid_credentials' ? 'password' : Object.keys(faults)[0]
  return { status: errorCodes[code].status, code, faults, focus, retryAfter: said.retryAfter }
}

export function generalFaultOf({ texts, request }: Shown, refusal: FormRefusal | undefined): string | undefined {
  const { refusals } = texts
  const app = nameOf(request.app)
  switch (refusal?.code) {
    case 'invalid_credentials':
      return refusals.wrongCredentials
    case 'invalid_passkey':
      return refusals.passkey
    case 'user_exists':
      return refusals.userExists
    case 'invalid_invitation':
      return refusals.invitation
    case 'link_required':
      return refusals.linkRequired
    case 'not_found':
    case 'sso_provider_disabled':
    case 'auth_method_not_allowed':
      return refusals.wayClosed
    case 'sso_email_missing':
      return refusals.noEmailOfProvider
    case 'sign_up_closed':
      return refusals.signUpClosed(app)
    case 'invalid_sso_code':
    case 'invalid_token':
      return refusals.tooLong
    case 'invalid_mail_code':
    case 'invalid_two_factor_code':
      return undefined
    case 'email_unverified':
      return refusals.unverified
    default:
      return generalFault(texts, refusal, app)
  }
}
