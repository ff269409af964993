import { type ErrorCode, errorCodes } from '../../errors.ts'
import { hasProvenAddress } from '../../lib/account-record.ts'
import { type Html, html, type PagePlace, type PageView } from '../../lib/html.ts'
import { MIN_PASSWORD_CHARACTERS } from '../../lib/password-policy.ts'
import { alert, checkbox, choice, type FormRefusal, field, generalFault, nameOf, shown, stepForm } from '../../pages/fields.ts'
import { passkeyFields, scriptUrl } from '../../pages/passkeys.ts'
import { takesSignUps } from '../../resources/apps/check-policy.ts'
import type { PasskeyRequest } from '../sign-in/passkey.ts'
import type { AskedMail, FirstFactorTicket, NamedByProvider, Resume, SaidRefusal } from '../sign-in/sealed-fields.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import type { Authorized, Person } from './authorize.ts'

const action = '/oauth/authorize'

/** What a page of the sign-in shows, apart from the step itself. */
export interface Shown {
  request: AuthorizationRequest
  /** The app. */
  place: PagePlace
  /** The sealed request, and what the redirect before this page carried. Every form sends both. */
  carried: Readonly<Record<string, string>>
  said: SaidRefusal | undefined
  ticket?: FirstFactorTicket | undefined
  named?: NamedByProvider | undefined
  mail?: AskedMail | undefined
  instead?: Resume['instead']
  /** The organization that the invitation of the request is for. */
  inviting: string | undefined
  /** What the browser is asked to sign with a passkey. */
  passkey: PasskeyRequest | undefined
  /** The providers that the app can be entered by. */
  providers: readonly { code: string; issuer: string }[]
}

type Step = Extract<Authorized, { step: unknown }>['step']

/** What a step shows, apart from what all pages have. */
type Part = Pick<PageView, 'title' | 'body' | 'script'>

export function stepView(step: Step, person: Person | undefined, view: Shown): PageView {
  const page = viewOf(step, person, view)
  const leadsTo = [view.request.redirectUri, ...view.providers.map(({ issuer }) => issuer)]
  return { status: 200, place: view.place, leadsTo, ...page }
}

function viewOf(step: Step, person: Person | undefined, view: Shown): Part {
  if (view.named) return namedView(view.named, person, view)
  if ('refuse' in step) return refusedView(step.refuse, person, view)
  switch (step.ask) {
    case 'sign_in':
    case 'create_account':
      if (view.ticket) return secondFactorView(view)
      if (view.mail && view.mail.purpose !== 'verify_email') return mailView(view.mail, view)
      if (view.instead === 'forgot' || view.instead === 'magic_link') return askMailView(view.instead, view)
      if (view.instead === 'create' || (step.ask === 'create_account' && view.instead === undefined)) return createView(view)
      return signInView(person, view)
    case 'organization':
      return organizationView(person, view)
    case 'join':
      return joinView(person, view)
    case 'continue':
      return continueView(person, view)
  }
}

const keepBox = ({ said }: Shown) => checkbox('keep', 'Keep me signed in', said?.isKept === true)

function signInView(person: Person | undefined, view: Shown): Part {
  const { request, carried, said } = view
  const refusal = refusalOf(said)
  const email = said?.email || person?.user.email || request.loginHint || ''
  const isPasskeyFirst = request.method === 'passkey'
  return {
    title: 'Sign in',
    script: view.passkey && scriptUrl,
    body: html`${invitedTo(view)}${stepForm(
      {
        action,
        hidden: { ...carried, step: 'sign_in' },
        button: 'Sign in',
        after: html`${!isPasskeyFirst && passkeyButton(view)}${providerButtons(view)}`,
      },
      alert(generalFaultOf(refusal, request) ?? faultOfProvider(said)),
      isPasskeyFirst ? passkeyButton(view) : undefined,
      field(
        {
          name: 'email',
          label: 'E-mail address',
          type: 'email',
          autocomplete: view.passkey ? 'username webauthn' : 'username',
          value: email,
        },
        refusal,
      ),
      field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' }, refusal),
      keepBox(view),
    )}${quietForm(view, 'magic_link', 'E-mail me a code')}${quietForm(view, 'forgot', 'Forgot password?')}${takesSignUps(request.app, { isInvited: view.inviting !== undefined }) && quietForm(view, 'create', 'Create account')}`,
  }
}

/** The script of the page shows the button, and fills in the fields. */
function passkeyButton({ passkey, request }: Shown): Html | undefined {
  return (
    passkey &&
    html`${passkeyFields('get', passkey)}<p><button type="button"${request.method !== 'passkey' && html` class="quiet"`} data-passkey-button hidden>Use a passkey</button></p>\n`
  )
}

/** Buttons of the form, and not links, so that "Keep me signed in" is sent with them. They need none of its other fields. */
function providerButtons({ providers }: Shown): Html | undefined {
  if (providers.length === 0) return undefined
  const buttons = providers.map(
    ({ code }) =>
      html`<p><button class="quiet" name="provider" value="${code}" formnovalidate>Continue with ${providerName(code)}</button></p>\n`,
  )
  return html`<p class="or">or</p>\n${buttons}`
}

/** A provider has no name of its own. */
function providerName(code: string): string {
  return code
    .split(/[-_.]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ')
}

function faultOfProvider(said: SaidRefusal | undefined): string | undefined {
  switch (said?.code) {
    case 'provider_access_denied':
      return 'The provider did not sign you in.'
    case 'provider_temporarily_unavailable':
      return 'The provider cannot be reached at the moment. Sign in another way, or try again later.'
    case 'provider_login_too_old':
      return 'The provider did not ask you to sign in again. Sign in another way.'
    case 'provider_server_error':
      return 'The provider gave an answer that cannot be used. Sign in another way.'
    default:
      return undefined
  }
}

/** A provider has named somebody: an account that is not there yet, or not the one that is signed in. */
function namedView({ email, isNew }: NamedByProvider, person: Person | undefined, view: Shown): Part {
  const app = nameOf(view.request.app)
  const now = person && html`<p>You are signed in as ${shown(person.user.email)}. That ends in this browser.</p>\n`
  const agree = (button: string) => stepForm({ action, hidden: { ...view.carried, step: 'agree' }, button })
  const instead = stepForm({ action, hidden: { ...view.carried, step: 'restart' }, button: 'Sign in another way', isQuiet: true })
  return isNew
    ? {
        title: 'Create your account',
        body: html`<p>There is no account for ${shown(email)} at ${shown(app)} yet.</p>
${now}${agree('Create your account')}${instead}`,
      }
    : {
        title: `Continue as ${email}`,
        body: html`${now}${agree('Continue')}${instead}`,
      }
}

function secondFactorView({ request, carried, said, ticket }: Shown): Part {
  const refusal = refusalOf(said)
  const hint = 'From your authenticator app, or one of your recovery codes.'
  return {
    title: 'Enter your code',
    body: html`<p>Signing in as ${shown(ticket?.email ?? '')}.</p>
${stepForm(
  { action, hidden: { ...carried, step: 'two_factor' }, button: 'Continue' },
  alert(generalFaultOf(refusal, request)),
  field({ name: 'two_factor_code', label: 'Two-factor code', type: 'text', autocomplete: 'one-time-code', hint }, refusal),
)}${stepForm({ action, hidden: { ...carried, step: 'restart' }, button: 'Use another account', isQuiet: true })}`,
  }
}

function quietForm({ carried }: Shown, step: string, button: string, more: Readonly<Record<string, string>> = {}): Html {
  return stepForm({ action, hidden: { ...carried, ...more, step }, button, isQuiet: true })
}

function invitedTo({ inviting }: Shown): Html | undefined {
  return inviting === undefined ? undefined : html`<p>You are invited to ${shown(inviting)}.</p>\n`
}

function createView(view: Shown): Part {
  const { request, carried, said } = view
  const refusal = refusalOf(said)
  const email = { name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username' } as const
  const password = { name: 'password', label: 'Password', type: 'password', autocomplete: 'new-password' } as const
  const hint = `At least ${MIN_PASSWORD_CHARACTERS} characters. Several unrelated words are easy to remember.`
  const name = { type: 'text', isOptional: true } as const
  return {
    title: 'Create your account',
    body: html`${invitedTo(view)}${stepForm(
      { action, hidden: { ...carried, step: 'register' }, button: 'Create account', after: providerButtons(view) },
      alert(generalFaultOf(refusal, request) ?? faultOfProvider(said)),
      field({ ...email, value: said?.email || request.loginHint || '' }, refusal),
      field({ ...password, hint }, refusal),
      field({ ...name, name: 'first_name', label: 'First name', autocomplete: 'given-name', value: said?.firstName }, refusal),
      field({ ...name, name: 'last_name', label: 'Last name', autocomplete: 'family-name', value: said?.lastName }, refusal),
      keepBox(view),
    )}${quietForm(view, 'sign_in_instead', 'Sign in instead')}`,
  }
}

/** Nobody joins an organization without having read its name. */
function joinView(person: Person | undefined, view: Shown): Part {
  const app = nameOf(view.request.app)
  return {
    title: `Join ${view.inviting ?? 'the organization'}`,
    body: html`${signedInAs(person)}<p>You are invited to become a member of ${shown(view.inviting ?? '')}. Then you go on to ${shown(app)} at ${shown(hostOf(view.request.redirectUri))}.</p>
${alert(view.said && generalFaultOf(refusalOf(view.said), view.request))}${stepForm({ action, hidden: { ...view.carried, step: 'join' }, button: 'Join' })}${anotherAccount(view)}`,
  }
}

/** Asks where to mail a code to. */
function askMailView(instead: 'forgot' | 'magic_link', view: Shown): Part {
  const { request, carried, said } = view
  const refusal = refusalOf(said)
  const isReset = instead === 'forgot'
  const text = isReset
    ? 'We mail you a code, with which you can set a new password.'
    : 'We mail you a code, with which you sign in.'
  const purpose = isReset ? 'reset_password' : 'magic_link'
  const email = { name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username' } as const
  return {
    title: isReset ? 'Forgot your password?' : 'Sign in by e-mail',
    body: html`<p>${text}</p>
${stepForm(
  { action, hidden: { ...carried, step: 'ask_mail', purpose }, button: 'Send the code' },
  alert(generalFaultOf(refusal, request)),
  field({ ...email, value: said?.email || request.loginHint || '' }, refusal),
)}${quietForm(view, 'restart', 'Back')}`,
  }
}

/**
 * After a mail was asked for, and after its link was opened in this browser. It says the same whether or not there is an account,
 * unless the person is signed in to it and verifies its address.
 */
function mailView(mail: AskedMail, view: Shown): Part {
  const { request, carried, said } = view
  const refusal = refusalOf(said)
  const { purpose, email, token } = mail
  const isReset = purpose === 'reset_password'
  const code = {
    name: 'code',
    label: 'Code from the mail',
    type: 'text',
    autocomplete: 'one-time-code',
    hint: 'Six digits.',
  } as const
  const newPassword = { name: 'password', label: 'New password', type: 'password', autocomplete: 'new-password' } as const
  const hint = `At least ${MIN_PASSWORD_CHARACTERS} characters. Several unrelated words are easy to remember.`
  const buttons = { reset_password: 'Set the new password', magic_link: 'Sign in', verify_email: 'Confirm' }
  const hidden = { ...carried, step: 'mail_code' }
  const form = stepForm(
    { action, hidden, button: buttons[purpose] },
    alert(generalFaultOf(refusal, request)),
    token === undefined ? field(code, refusal) : undefined,
    isReset ? field({ ...newPassword, hint }, refusal) : undefined,
    purpose === 'verify_email' ? undefined : keepBox(view),
  )
  if (token !== undefined)
    return {
      title: { reset_password: 'Choose a new password', magic_link: 'Sign in', verify_email: 'Confirm your e-mail address' }[
        purpose
      ],
      body: html`<p>You opened the link that was mailed to ${shown(email)}.</p>\n${form}`,
    }
  return {
    title: 'Check your mail',
    body: html`<p>${purpose === 'verify_email' ? html`A mail with a code is on its way to ${shown(email)}.` : html`If there is an account for ${shown(email)}, a mail with a code is on its way.`}</p>
${form}${quietForm(view, 'ask_mail', 'Send it again', { purpose, email })}${purpose !== 'verify_email' && quietForm(view, 'restart', 'Back')}`,
  }
}

function organizationView(person: Person | undefined, view: Shown): Part {
  const options = (person?.organizations ?? []).map(({ id, name, slug }) => ({ value: id, label: nameOf({ name, code: slug }) }))
  return {
    title: 'Choose an organization',
    body: html`${signedInAs(person)}${stepForm(
      { action, hidden: { ...view.carried, step: 'continue' }, button: 'Continue' },
      leadsTo(view),
      choice('organization_id', 'Sign in for', [...options, { value: '', label: 'No organization' }]),
    )}${anotherAccount(view)}`,
  }
}

function continueView(person: Person | undefined, view: Shown): Part {
  const app = nameOf(view.request.app)
  return {
    title: `Continue to ${app}`,
    body: html`${signedInAs(person)}${leadsTo(view)}${stepForm({ action, hidden: { ...view.carried, step: 'continue' }, button: 'Continue' })}${anotherAccount(view)}`,
  }
}

/** Shown before a person enters an app for the first time. */
function leadsTo({ request }: Shown): Html {
  return html`<p>You go on to ${shown(hostOf(request.redirectUri))}.</p>\n`
}

/** In punycode, so that a letter that looks like another cannot hide where the person goes. */
function hostOf(redirectUri: string): string {
  const { host, protocol } = new URL(redirectUri)
  return host || protocol.slice(0, -1)
}

function signedInAs(person: Person | undefined): Html {
  return html`<p>You are signed in as ${shown(person?.user.email ?? '')}.</p>\n`
}

function anotherAccount({ carried }: Shown): Html {
  return stepForm({ action, hidden: { ...carried, step: 'another_account' }, button: 'Use another account', isQuiet: true })
}

/** Why somebody may not enter, and what they can do. */
function refusedView(code: ErrorCode | 'unknown_here', person: Person | undefined, view: Shown): Part {
  const app = shown(nameOf(view.request.app))
  const { said } = view
  const notes: Partial<Record<typeof code, [title: string, text: Html]>> = {
    unknown_here: ['This account is not known here', html`${app} does not know this account. If you have another one, use that.`],
    app_access_denied: ['You don’t have access yet', html`You don’t have access to ${app} yet. An admin can give it to you.`],
    organization_membership_required: [
      'You are not a member of this organization',
      html`Ask an admin of the organization to invite you.`,
    ],
    account_suspended: ['Your account is suspended', html`Ask the people who run ${app} what you can do.`],
    app_inactive: ['This app is switched off', html`Nobody can enter ${app} at the moment. Try again later.`],
  }
  if (code === 'email_unverified') return unverifiedView(html`${app} asks for a verified e-mail address.`, person, view)
  const isUnproven = person !== undefined && !hasProvenAddress(person.user)
  const [title, text] = notes[code] ?? [code === 'unknown_here' ? '' : errorCodes[code].title, html`You cannot enter ${app}.`]
  // An admin decides by the address, so the person has to verify it before they can ask.
  if (code === 'app_access_denied' && isUnproven)
    return { ...unverifiedView(html`${text} You can ask for it once your address is verified.`, person, view), title }
  const isAsked = said?.code === 'access_requested'
  const outcome = isAsked
    ? html`<p>You have asked for access. You get a mail when an admin has decided.</p>\n`
    : alert(said && generalFaultOf(refusalOf(said), view.request))
  const ask = code === 'app_access_denied' && !isAsked
  return {
    title,
    body: html`${signedInAs(person)}<p>${text}</p>
${outcome}${ask && stepForm({ action, hidden: { ...view.carried, step: 'ask_for_access' }, button: 'Ask for access' })}${anotherAccount(view)}`,
  }
}

/** Asks for the code of a mail, or offers to send one. `why` says what a verified address is for. */
function unverifiedView(why: Html, person: Person | undefined, view: Shown): Part {
  const email = person?.user.email ?? ''
  if (view.mail?.purpose === 'verify_email' && view.mail.email === email) {
    const page = mailView(view.mail, view)
    return { ...page, body: html`<p>${why}</p>\n${page.body}${anotherAccount(view)}` }
  }
  const { said } = view
  return {
    title: 'Verify your e-mail address',
    body: html`${signedInAs(person)}<p>${why}</p>
${alert(said && generalFaultOf(refusalOf(said), view.request))}${stepForm({ action, hidden: { ...view.carried, step: 'ask_mail', purpose: 'verify_email' }, button: 'Send me a code' })}${anotherAccount(view)}`,
  }
}

function refusalOf(said: SaidRefusal | undefined): FormRefusal | undefined {
  if (!said || !(said.code in errorCodes)) return undefined
  const code = said.code as ErrorCode
  const faults = {
    ...said.faults,
    ...(code === 'invalid_mail_code' ? { code: 'is wrong' } : {}),
    ...(code === 'invalid_two_factor_code' ? { two_factor_code: 'is wrong or was already used' } : {}),
  }
  const focus = code === 'invalid_credentials' ? 'password' : Object.keys(faults)[0]
  return { status: errorCodes[code].status, code, title: errorCodes[code].title, faults, focus, retryAfter: said.retryAfter }
}

function generalFaultOf(refusal: FormRefusal | undefined, { app }: AuthorizationRequest): string | undefined {
  switch (refusal?.code) {
    case 'invalid_credentials':
      return 'The e-mail address or the password is wrong.'
    case 'invalid_passkey':
      return 'This passkey does not work here. Sign in another way.'
    case 'user_exists':
      return 'There is already an account with this e-mail address. Sign in instead, or set a new password.'
    case 'invalid_invitation':
      return 'The invitation is no longer good, or is for another e-mail address.'
    case 'link_required':
      return `There is already an account with this e-mail address. Sign in to it with its password.`
    case 'not_found':
    case 'sso_provider_disabled':
    case 'auth_method_not_allowed':
      return 'This way to sign in is not open here. Choose another one.'
    case 'sso_email_missing':
      return 'The provider did not tell your e-mail address. Sign in another way.'
    case 'sign_up_closed':
      return `${nameOf(app)} takes no new accounts.`
    case 'invalid_sso_code':
    case 'invalid_token':
      return 'That took too long. Sign in again.'
    case 'invalid_mail_code':
    case 'invalid_two_factor_code':
      return undefined
    case 'email_unverified':
      return 'Verify your e-mail address first, with the link that was mailed to you.'
    default:
      return generalFault(refusal, nameOf(app))
  }
}
