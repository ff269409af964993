import { type Html, html } from '../../lib/html.ts'
import { alert, checkbox, field, nameOf, providerName, shown, stepForm, toDeveloper, twoFactorCode } from '../../pages/fields.ts'
import { passkeyFields, scriptUrl } from '../../pages/passkeys.ts'
import type { PageTexts } from '../../pages/texts/page-texts.ts'
import { takesSignUps } from '../../resources/apps/app-settings.ts'
import type { AskedMail, FirstFactorTicket, NamedByProvider, SaidRefusal } from '../sign-in/sealed-fields.ts'
import type { Person } from './next-step.ts'
import {
  action,
  emailField,
  formRefusalOf,
  generalFaultOf,
  keepBox,
  newPasswordField,
  type Part,
  quietForm,
  type Shown,
} from './view-parts.ts'

export function signInView(person: Person | undefined, view: Shown): Part {
  const { texts, request, hiddenFields, said } = view
  const { signIn, fields } = texts
  const refusal = formRefusalOf(said)
  const email = said?.email || person?.user.email || request.loginHint || ''
  const isPasskeyFirst = request.method === 'passkey'
  return {
    title: signIn.title,
    script: view.passkey && scriptUrl,
    body: html`${invitedTo(view)}${stepForm(
      {
        action,
        hidden: { ...hiddenFields, step: 'sign_in' },
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
export function agreeView({ email, isNew }: NamedByProvider, person: Person | undefined, view: Shown): Part {
  const { named, signIn, create } = view.texts
  const app = nameOf(view.request.app)
  const now = person && html`<p>${named.signedInAs(shown(person.user.email))}</p>\n`
  const agree = (button: string) => stepForm({ action, hidden: { ...view.hiddenFields, step: 'agree' }, button })
  const instead = stepForm({
    action,
    hidden: { ...view.hiddenFields, step: 'restart' },
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

export function secondFactorView(ticket: FirstFactorTicket, view: Shown): Part {
  const { texts, hiddenFields, said } = view
  const { signIn, secondFactor } = texts
  const refusal = formRefusalOf(said)
  return {
    title: secondFactor.title,
    body: html`<p>${signIn.signingInAs(shown(ticket.email))}</p>
${stepForm(
  { action, hidden: { ...hiddenFields, step: 'two_factor' }, button: signIn.continue },
  alert(generalFaultOf(view, refusal)),
  field(texts, twoFactorCode(texts), refusal),
  view.trustDays > 0 ? checkbox('trust', signIn.trust(view.trustDays), false) : undefined,
)}${quietForm(view, 'restart', signIn.anotherAccount)}`,
  }
}

export function createView(view: Shown): Part {
  const { texts, hiddenFields, said } = view
  const { fields, create } = texts
  const refusal = formRefusalOf(said)
  const name = { type: 'text', isOptional: true } as const
  const firstName = { name: 'first_name', label: fields.firstName, autocomplete: 'given-name', value: said?.firstName }
  const lastName = { name: 'last_name', label: fields.lastName, autocomplete: 'family-name', value: said?.lastName }
  return {
    title: create.title,
    body: html`${invitedTo(view)}${stepForm(
      { action, hidden: { ...hiddenFields, step: 'register' }, button: create.button, after: providerButtons(view) },
      alert(generalFaultOf(view, refusal) ?? faultOfProvider(texts, said)),
      emailField(view, refusal),
      newPasswordField(texts, fields.password, refusal),
      field(texts, { ...name, ...firstName }, refusal),
      field(texts, { ...name, ...lastName }, refusal),
      keepBox(view),
    )}${quietForm(view, 'sign_in_instead', create.instead)}`,
  }
}

/** Asks where to mail a code to. */
export function askMailView(instead: 'forgot' | 'magic_link', view: Shown): Part {
  const { texts, hiddenFields, said } = view
  const refusal = formRefusalOf(said)
  const isReset = instead === 'forgot'
  const { title, text } = isReset ? texts.askMail.reset : texts.askMail.signIn
  const purpose = isReset ? 'reset_password' : 'magic_link'
  return {
    title,
    body: html`<p>${text}</p>
${stepForm(
  { action, hidden: { ...hiddenFields, step: 'ask_mail', purpose }, button: texts.askMail.button },
  alert(generalFaultOf(view, refusal)),
  emailField(view, refusal),
)}${quietForm(view, 'restart', texts.signIn.back)}`,
  }
}

/**
 * After a mail was asked for, and after its link was opened in this browser. It says the same whether or not there is an account,
 * unless the person is signed in to it and verifies its address.
 */
export function mailView({ purpose, email, token }: AskedMail, view: Shown): Part {
  const { texts, hiddenFields, said } = view
  const { mail, signIn, fields, hints } = texts
  const refusal = formRefusalOf(said)
  const code = { name: 'code', label: fields.mailCode, type: 'text', autocomplete: 'one-time-code' } as const
  const buttons = { reset_password: mail.setPassword, magic_link: signIn.button, verify_email: mail.confirm }
  const hidden = { ...hiddenFields, step: 'mail_code' }
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

function invitedTo({ texts, inviting }: Shown): Html | undefined {
  return inviting === undefined ? undefined : html`<p>${texts.signIn.invitedTo(shown(inviting))}</p>\n`
}
