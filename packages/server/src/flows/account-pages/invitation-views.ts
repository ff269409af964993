import { type Html, html } from '../../lib/html.ts'
import type { PageView } from '../../lib/page-view.ts'
import { MIN_PASSWORD_CHARACTERS } from '../../lib/password-policy.ts'
import type { InvitationOffer } from './describe-invitation.ts'
import type { InvitationOutcome } from './enter-by-invitation.ts'
import { alert, codeField, field, form, headOf, nameOf, type PageToken, secondFactorField, shown } from './page-parts.ts'
import type { FormRefusal } from './refusal.ts'
import { generalFault, withFaultOfCode } from './refusal.ts'
import type { InvitationForm } from './schema.ts'

/** The form as it was sent, to be shown again. Passwords and codes are not shown. */
interface Sent {
  form: InvitationForm
  refusal: FormRefusal
}

/** The form for an existing or a new account. If no app can take the reader that way, shows a code to enter elsewhere. */
export function invitationView(place: PageToken, { organization, app, email }: InvitationOffer, sent?: Sent): PageView {
  const inviting = nameOf(organization)
  if (app === null) return invitationCodeView(place.token, inviting)
  const through = nameOf(app)
  return {
    ...headOf(sent?.refusal, `You are invited to ${inviting}`),
    place: inviting,
    body: html`<p>Accept with your account for ${shown(through)}. If you have none, one is created for you.</p>
${form(
  place,
  'Accept the invitation',
  alert(generalFault(sent?.refusal, through)),
  emailField(email, sent),
  passwordField(through, sent),
  secondFactorField(sent?.refusal),
  nameField('first_name', 'First name', 'given-name', sent),
  nameField('last_name', 'Last name', 'family-name', sent),
)}`,
  }
}

function emailField(fixed: string | null, sent: Sent | undefined): Html {
  const email = { name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username' } as const
  return field({ ...email, value: fixed ?? sent?.form.email ?? '', isFixed: fixed !== null }, sent?.refusal)
}

function passwordField(app: string, sent: Sent | undefined): Html {
  const hint = `The password you use for ${app}. If you have no account yet, choose one of at least ${MIN_PASSWORD_CHARACTERS} characters.`
  const refusal = sent && withFaultOfCode(sent.refusal)
  return field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', hint }, refusal)
}

function nameField(key: 'first_name' | 'last_name', label: string, autocomplete: string, sent: Sent | undefined): Html {
  const value = sent?.form[key] ?? ''
  return field({ name: key, label, type: 'text', autocomplete, value, isOptional: true }, sent?.refusal)
}

export function enteredView({ organization, app }: InvitationOffer, { created, access }: InvitationOutcome): PageView {
  const place = nameOf(organization)
  const through = app && shown(nameOf(app))
  const account = created && html`Your account is ready. `
  const next = {
    granted: html`You can sign in to ${through} now.`,
    pending: html`You do not have access to ${through} yet. Ask the person who invited you.`,
    unverified: html`Open the link that was mailed to you. Then you can sign in to ${through}.`,
  }[access]
  return { status: 200, title: `You are a member of ${place}`, place, body: html`<p>${account}${next}</p>` }
}

function invitationCodeView(token: string, place: string): PageView {
  return {
    status: 200,
    title: `You are invited to ${place}`,
    place,
    body: html`<p>Sign in or register where ${shown(place)} asked you to, and enter this invitation code there.</p>
${codeField('Invitation code', token)}<p>If you do not know where that is, ask the person who invited you.</p>`,
  }
}
