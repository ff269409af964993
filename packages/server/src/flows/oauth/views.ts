import { type ErrorCode, errorCodes } from '../../errors.ts'
import { hasProvenAddress } from '../../lib/account-record.ts'
import { type Html, html, type PagePlace, type PageView } from '../../lib/html.ts'
import { MIN_PASSWORD_CHARACTERS } from '../../lib/password.ts'
import { describeProgram } from '../../mail/describe-program.ts'
import type { DeviceCodeRow } from '../../models/device-code.ts'
import { enrolmentView, recoveryCodesView } from '../../pages/enrolment.ts'
import {
  alert,
  checkbox,
  choice,
  type FormRefusal,
  field,
  generalFault,
  nameOf,
  providerName,
  shown,
  stepForm,
  toDeveloper,
  twoFactorCode,
} from '../../pages/fields.ts'
import { passkeyFields, scriptUrl } from '../../pages/passkeys.ts'
import type { PageTexts } from '../../pages/texts/page-texts.ts'
import { takesSignUps } from '../../resources/apps/app-settings.ts'
import type { PasskeyRequest } from '../sign-in/passkey.ts'
import type { AskedMail, FirstFactorTicket, NamedByProvider, Resume, SaidRefusal } from '../sign-in/sealed-fields.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import type { Authorized, Person } from './authorize.ts'

const action = '/oauth/authorize'

/** What a page of the sign-in shows, apart from the step itself. */
export interface Shown {
  texts: PageTexts
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
  /** The seed of a second factor that the person is setting up. */
  pending?: { secret: string; url: string } | undefined
  typed?: string | undefined
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

type Step = Extract<Authorized, { step: unknown }>['step']

/** What a step shows, apart from what all pages have. */
type Part = Pick<PageView, 'title' | 'body' | 'script'>

export function stepView(step: Step, person: Person | undefined, view: Shown): PageView {
  const page = viewOf(step, person, view)
  const leadsTo = [view.request.redirectUri, ...view.providers.map(({ issuer }) => issuer)]
  return { status: 200, language: view.texts.language, place: view.place, leadsTo, ...page }
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
    case 'use_passkey':
      return passkeyView(person, view)
    case 'enrol':
      return enrolView(person, view)
    case 'organization':
      return organizationView(person, view)
    case 'join':
      return joinView(person, view)
    case 'continue':
      return continueView(person, view)
  }
}

const keepBox = ({ texts, said }: Shown) => checkbox('keep', texts.signIn.keep, said?.isKept === true)

function signInView(person: Person | undefined, view: Shown): Part {
  const { texts, request, carried, said } = view
  const { signIn, fields } = texts
  const refusal = refusalOf(said)
  const email = said?.email || person?.user.email || request.loginHint || ''
  const isPasskeyFirst = request.method === 'passkey'
  return {
    title: signIn.title,
    script: view.passkey && scriptUrl,
    body: html`${invitedTo(view)}${stepForm(
      {
        action,
        hidden: { ...carried, step: 'sign_in' },
        button: signIn.button,
        after: html`${!isPasskeyFirst && passkeyButton(view)}${providerButtons(view)}${insteadButton('magic_link', signIn.mailCode)}${insteadButton('forgot', signIn.forgot)}`,
      },
      alert(generalFaultOf(view, refusal) ?? faultOfProvider(texts, said)),
      isPasskeyFirst ? passkeyButton(view) : undefined,
      field(
        texts,
        {
          name: 'email',
          label: fields.email,
          type: 'email',
          autocomplete: view.passkey ? 'username webauthn' : 'username',
          value: email,
        },
        refusal,
      ),
      field(texts, { name: 'password', label: fields.password, type: 'password', autocomplete: 'current-password' }, refusal),
      keepBox(view),
    )}${takesSignUps(request.app, { isInvited: view.inviting !== undefined }) && quietForm(view, 'create', signIn.create)}`,
  }
}

/** The script of the page shows the button, and fills in the fields. */
function passkeyButton({ texts, passkey, request }: Shown): Html | undefined {
  return (
    passkey &&
    html`${passkeyFields(texts, 'get', passkey)}<p><button type="button"${request.method !== 'passkey' && html` class="quiet"`} data-passkey-button hidden>${texts.signIn.passkey}</button></p>\n`
  )
}

/** Buttons of the form, and not links, so that "Keep me signed in" is sent with them. They need none of its other fields. */
function providerButtons({ texts, providers }: Shown): Html | undefined {
  if (providers.length === 0) return undefined
  const buttons = providers.map(
    ({ code }) =>
      html`<p><button class="quiet" name="provider" value="${code}" formnovalidate>${texts.providers.continueWith(providerName(code))}</button></p>\n`,
  )
  return html`<p class="or">${texts.providers.or}</p>\n${buttons}`
}

/** In the form, so that the typed address is sent with it. */
function insteadButton(instead: 'forgot' | 'magic_link', text: string): Html {
  return html`<p><button class="quiet" name="instead" value="${instead}" formnovalidate>${text}</button></p>\n`
}

function faultOfProvider({ providers }: PageTexts, said: SaidRefusal | undefined): string | undefined {
  switch (said?.code) {
    case 'provider_access_denied':
      return providers.denied
    case 'provider_temporarily_unavailable':
      return providers.unreachable
    case 'provider_login_too_old':
      return providers.tooOld
    case 'provider_server_error':
      return providers.broken
    default:
      return undefined
  }
}

/** A provider has named somebody: an account that is not there yet, or not the one that is signed in. */
function namedView({ email, isNew }: NamedByProvider, person: Person | undefined, view: Shown): Part {
  const { named, signIn, create } = view.texts
  const app = nameOf(view.request.app)
  const now = person && html`<p>${named.signedInAs(shown(person.user.email))}</p>\n`
  const agree = (button: string) => stepForm({ action, hidden: { ...view.carried, step: 'agree' }, button })
  const instead = stepForm({
    action,
    hidden: { ...view.carried, step: 'restart' },
    button: signIn.anotherWay,
    isQuiet: true,
  })
  return isNew
    ? {
        title: create.title,
        body: html`<p>${named.noAccount(shown(email), shown(app))}</p>
${now}${agree(create.title)}${instead}`,
      }
    : {
        title: named.continueAs(email),
        body: html`${now}${agree(signIn.continue)}${instead}`,
      }
}

function secondFactorView(view: Shown): Part {
  const { texts, carried, said, ticket } = view
  const { signIn, secondFactor } = texts
  const refusal = refusalOf(said)
  return {
    title: secondFactor.title,
    body: html`<p>${signIn.signingInAs(shown(ticket?.email ?? ''))}</p>
${stepForm(
  { action, hidden: { ...carried, step: 'two_factor' }, button: signIn.continue },
  alert(generalFaultOf(view, refusal)),
  field(texts, twoFactorCode(texts), refusal),
  view.trustDays > 0 ? checkbox('trust', signIn.trust(view.trustDays), false) : undefined,
)}${quietForm(view, 'restart', signIn.anotherAccount)}`,
  }
}

/** For a person who has no other second factor than a passkey, and has not shown it. */
function passkeyView(person: Person | undefined, view: Shown): Part {
  const { texts, carried, said, passkey } = view
  const values = Object.entries({ ...carried, step: 'use_passkey', keep: person?.live.is_kept === 1 ? 'yes' : '' })
  return {
    title: texts.secondFactor.passkey,
    script: passkey && scriptUrl,
    body: html`${signedInAs(person, view)}<p>${texts.secondFactor.why(shown(nameOf(view.request.app)))}</p>
${alert(said && generalFaultOf(view, refusalOf(said)))}<form method="post" action="${action}">
${values.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}${passkey && passkeyFields(texts, 'get', passkey)}<button type="button" data-passkey-button hidden>${texts.signIn.passkey}</button>
</form>
<noscript><p>${texts.passkeys.needsScript}</p></noscript>
${anotherAccount(view)}`,
  }
}

/** For a person who has no second factor: they set one up here, and go on. */
function enrolView(person: Person | undefined, view: Shown): Part {
  const { texts, pending, said, carried } = view
  const { secondFactor, account } = texts
  const why = html`${signedInAs(person, view)}<p>${secondFactor.why(shown(nameOf(view.request.app)))}`
  const refusal = refusalOf(said)
  if (pending) {
    const after = html`${quietForm(view, 'set_up', account.twoFactor.startAgain)}${anotherAccount(view)}`
    const form = { action, hidden: { ...carried, step: 'enrol' } }
    const fault = refusal && generalFaultOf(view, refusal)
    return enrolmentView(texts, { pending, form, refusal, fault, before: html`${why}</p>\n`, after })
  }
  return {
    title: secondFactor.missing.title,
    body: html`${why} ${secondFactor.missing.text}</p>
${alert(said && generalFaultOf(view, refusal))}${stepForm({ action, hidden: { ...carried, step: 'set_up' }, button: account.twoFactor.setUp })}${anotherAccount(view)}`,
  }
}

/** The recovery codes of a second factor that was just set up. */
export function codesView({
  texts,
  place,
  carried,
  codes,
}: Pick<Shown, 'texts' | 'place' | 'carried'> & { codes: readonly string[] }): PageView {
  const onward = stepForm({ action, hidden: { ...carried, step: 'restart' }, button: texts.signIn.continue })
  return { status: 200, language: texts.language, place, ...recoveryCodesView(texts, { codes, onward }) }
}

function quietForm({ carried }: Shown, step: string, button: string, more: Readonly<Record<string, string>> = {}): Html {
  return stepForm({ action, hidden: { ...carried, ...more, step }, button, isQuiet: true })
}

function invitedTo({ texts, inviting }: Shown): Html | undefined {
  return inviting === undefined ? undefined : html`<p>${texts.signIn.invitedTo(shown(inviting))}</p>\n`
}

function createView(view: Shown): Part {
  const { texts, carried, said } = view
  const { fields, create } = texts
  const refusal = refusalOf(said)
  const name = { type: 'text', isOptional: true } as const
  const firstName = { name: 'first_name', label: fields.firstName, autocomplete: 'given-name', value: said?.firstName }
  const lastName = { name: 'last_name', label: fields.lastName, autocomplete: 'family-name', value: said?.lastName }
  return {
    title: create.title,
    body: html`${invitedTo(view)}${stepForm(
      { action, hidden: { ...carried, step: 'register' }, button: create.button, after: providerButtons(view) },
      alert(generalFaultOf(view, refusal) ?? faultOfProvider(texts, said)),
      emailField(view, refusal),
      newPasswordField(texts, fields.password, refusal),
      field(texts, { ...name, ...firstName }, refusal),
      field(texts, { ...name, ...lastName }, refusal),
      keepBox(view),
    )}${quietForm(view, 'sign_in_instead', create.instead)}`,
  }
}

function emailField({ texts, said, typed, request }: Shown, refusal: FormRefusal | undefined): Html {
  const email = { name: 'email', label: texts.fields.email, type: 'email', autocomplete: 'username' } as const
  return field(texts, { ...email, value: said?.email || typed || request.loginHint || '' }, refusal)
}

function newPasswordField(texts: PageTexts, label: string, refusal: FormRefusal | undefined): Html {
  const hint = texts.hints.newPassword(MIN_PASSWORD_CHARACTERS)
  return field(texts, { name: 'password', label, type: 'password', autocomplete: 'new-password', hint }, refusal)
}

/** Nobody joins an organization without having read its name. */
function joinView(person: Person | undefined, view: Shown): Part {
  const { texts, inviting = '', request, carried, said } = view
  const app = nameOf(request.app)
  return {
    title: texts.join.title(inviting),
    body: html`${signedInAs(person, view)}<p>${texts.join.text(shown(inviting), shown(app), shown(hostOf(request.redirectUri)))}</p>
${alert(said && generalFaultOf(view, refusalOf(said)))}${stepForm({ action, hidden: { ...carried, step: 'join' }, button: texts.join.button })}${anotherAccount(view)}`,
  }
}

/** Asks where to mail a code to. */
function askMailView(instead: 'forgot' | 'magic_link', view: Shown): Part {
  const { texts, carried, said } = view
  const refusal = refusalOf(said)
  const isReset = instead === 'forgot'
  const { title, text } = isReset ? texts.askMail.reset : texts.askMail.signIn
  const purpose = isReset ? 'reset_password' : 'magic_link'
  return {
    title,
    body: html`<p>${text}</p>
${stepForm(
  { action, hidden: { ...carried, step: 'ask_mail', purpose }, button: texts.askMail.button },
  alert(generalFaultOf(view, refusal)),
  emailField(view, refusal),
)}${quietForm(view, 'restart', texts.signIn.back)}`,
  }
}

/**
 * After a mail was asked for, and after its link was opened in this browser. It says the same whether or not there is an account,
 * unless the person is signed in to it and verifies its address.
 */
function mailView({ purpose, email, token }: AskedMail, view: Shown): Part {
  const { texts, carried, said } = view
  const { mail, signIn, fields, hints } = texts
  const refusal = refusalOf(said)
  const code = { name: 'code', label: fields.mailCode, type: 'text', autocomplete: 'one-time-code' } as const
  const buttons = { reset_password: mail.setPassword, magic_link: signIn.button, verify_email: mail.confirm }
  const hidden = { ...carried, step: 'mail_code' }
  const form = stepForm(
    { action, hidden, button: buttons[purpose] },
    alert(generalFaultOf(view, refusal)),
    token === undefined ? field(texts, { ...code, hint: hints.mailCode }, refusal) : undefined,
    purpose === 'reset_password' ? newPasswordField(texts, fields.newPassword, refusal) : undefined,
    purpose === 'verify_email' ? undefined : keepBox(view),
  )
  const titles = { reset_password: mail.newPasswordTitle, magic_link: signIn.title, verify_email: mail.confirmTitle }
  if (token !== undefined) return { title: titles[purpose], body: html`<p>${mail.opened(shown(email))}</p>\n${form}` }
  return {
    title: mail.title,
    body: html`<p>${purpose === 'verify_email' ? mail.onItsWay(shown(email)) : mail.ifThereIs(shown(email))}</p>
${toDeveloper(view.mailFolder && `mail is not sent in development. It is in ${view.mailFolder}, where the service was started.`)}${form}${quietForm(view, 'ask_mail', mail.again, { purpose, email })}${purpose !== 'verify_email' && quietForm(view, 'restart', signIn.back)}`,
  }
}

function organizationView(person: Person | undefined, view: Shown): Part {
  const { organization, signIn } = view.texts
  const options = (person?.organizations ?? []).map(({ id, name, slug }) => ({ value: id, label: nameOf({ name, code: slug }) }))
  return {
    title: organization.title,
    body: html`${signedInAs(person, view)}${stepForm(
      { action, hidden: { ...view.carried, step: 'continue' }, button: signIn.continue },
      leadsTo(view),
      choice('organization_id', organization.legend, [...options, { value: '', label: organization.none }]),
    )}${anotherAccount(view)}`,
  }
}

/** Says what asks, and from where: somebody else may have begun it, and sent the code. */
function deviceView(person: Person | undefined, view: Shown, device: DeviceCodeRow): Part {
  const { texts, request, carried } = view
  const { ask } = texts.device
  const app = nameOf(request.app)
  const { program, system } = describeProgram(device.user_agent ?? '')
  const name = [program, system].filter((part) => part !== undefined).join(' · ')
  const at = new Intl.DateTimeFormat(texts.locale, { dateStyle: 'medium', timeStyle: 'long', timeZone: 'UTC' })
  const facts: [string, string][] = [
    ...(name ? [[ask.from.program, name] as [string, string]] : []),
    ...(device.ip ? [[ask.from.address, device.ip] as [string, string]] : []),
    [ask.from.time, at.format(device.created_at)],
  ]
  const rows = facts.map(([label, value]) => html`<li>${label}: <bdi>${value}</bdi></li>\n`)
  return {
    title: ask.title(app),
    body: html`${signedInAs(person, view)}<p>${ask.text(shown(app))}</p>
<ul>
${rows}</ul>
<p>${ask.warning}</p>
${stepForm({ action, hidden: { ...carried, step: 'continue' }, button: ask.allow })}${quietForm(view, 'deny', ask.deny)}${anotherAccount(view)}`,
  }
}

function continueView(person: Person | undefined, view: Shown): Part {
  if (view.request.device) return deviceView(person, view, view.request.device)
  const { continueTo, signIn } = view.texts
  return {
    title: continueTo(nameOf(view.request.app)),
    body: html`${signedInAs(person, view)}${leadsTo(view)}${stepForm({ action, hidden: { ...view.carried, step: 'continue' }, button: signIn.continue })}${anotherAccount(view)}`,
  }
}

/** Shown before a person enters an app for the first time. */
function leadsTo({ texts, request }: Shown): Html {
  return html`<p>${texts.signIn.leadsTo(shown(hostOf(request.redirectUri)))}</p>\n`
}

/** In punycode, so that a letter that looks like another cannot hide where the person goes. */
function hostOf(redirectUri: string): string {
  const { host, protocol } = new URL(redirectUri)
  return host || protocol.slice(0, -1)
}

function signedInAs(person: Person | undefined, { texts }: Shown): Html {
  return html`<p>${texts.signIn.signedInAs(shown(person?.user.email ?? ''))}</p>\n`
}

function anotherAccount(view: Shown): Html {
  return quietForm(view, 'another_account', view.texts.signIn.anotherAccount)
}

/** Why somebody may not enter, and what they can do. */
function refusedView(code: ErrorCode | 'unknown_here', person: Person | undefined, view: Shown): Part {
  const { texts, said, carried } = view
  const { refused, verify } = texts
  const app = shown(nameOf(view.request.app))
  if (code === 'email_unverified') return unverifiedView(verify.why(app), person, view)
  const { title, text } = noteOf(code, texts, app)
  const isUnproven = person !== undefined && !hasProvenAddress(person.user)
  // An admin decides by the address, so the person has to verify it before they can ask.
  if (code === 'app_access_denied' && isUnproven) return { ...unverifiedView(html`${text} ${verify.toAsk}`, person, view), title }
  const isAsked = said?.code === 'access_requested'
  const outcome = isAsked ? html`<p>${refused.noAccess.asked}</p>\n` : alert(said && generalFaultOf(view, refusalOf(said)))
  const ask = code === 'app_access_denied' && !isAsked
  return {
    title,
    body: html`${signedInAs(person, view)}<p>${text}</p>
${outcome}${ask && stepForm({ action, hidden: { ...carried, step: 'ask_for_access' }, button: refused.noAccess.ask })}${anotherAccount(view)}`,
  }
}

function noteOf(code: ErrorCode | 'unknown_here', { refused }: PageTexts, app: Html): { title: string; text: string | Html } {
  const told = ({ title, text }: { title: string; text(app: Html): Html }) => ({ title, text: text(app) })
  switch (code) {
    case 'unknown_here':
      return told(refused.unknownHere)
    case 'app_access_denied':
      return told(refused.noAccess)
    case 'organization_membership_required':
      return refused.noMember
    case 'account_suspended':
      return told(refused.suspended)
    case 'app_inactive':
      return told(refused.appInactive)
    default:
      return told(refused.other)
  }
}

/** Asks for the code of a mail, or offers to send one. `why` says what a verified address is for. */
function unverifiedView(why: Html, person: Person | undefined, view: Shown): Part {
  const { texts, said, carried } = view
  const email = person?.user.email ?? ''
  if (view.mail?.purpose === 'verify_email' && view.mail.email === email) {
    const page = mailView(view.mail, view)
    return { ...page, body: html`<p>${why}</p>\n${page.body}${anotherAccount(view)}` }
  }
  const hidden = { ...carried, step: 'ask_mail', purpose: 'verify_email' }
  return {
    title: texts.verify.title,
    body: html`${signedInAs(person, view)}<p>${why}</p>
${alert(said && generalFaultOf(view, refusalOf(said)))}${stepForm({ action, hidden, button: texts.verify.button })}${anotherAccount(view)}`,
  }
}

function refusalOf(said: SaidRefusal | undefined): FormRefusal | undefined {
  if (!said || !(said.code in errorCodes)) return undefined
  const code = said.code as ErrorCode
  const faults: FormRefusal['faults'] = {
    ...said.faults,
    ...(code === 'invalid_mail_code' ? { code: 'wrong' } : {}),
    ...(code === 'invalid_two_factor_code' ? { two_factor_code: 'wrong_or_used' } : {}),
  }
  const focus = code === 'invalid_credentials' ? 'password' : Object.keys(faults)[0]
  return { status: errorCodes[code].status, code, faults, focus, retryAfter: said.retryAfter }
}

function generalFaultOf({ texts, request }: Shown, refusal: FormRefusal | undefined): string | undefined {
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
