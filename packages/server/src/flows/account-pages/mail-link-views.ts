import { type Html, html } from '../../lib/html.ts'
import type { PageView } from '../../lib/page-view.ts'
import { MIN_PASSWORD_CHARACTERS } from '../../lib/password-policy.ts'
import type { MailLink } from './describe-mail-link.ts'
import { alert, codeField, field, form, headOf, nameOf, type PageToken, secondFactorField, shown } from './page-parts.ts'
import { type FormRefusal, generalFault, withFaultOfCode } from './refusal.ts'

export function verifyView(place: PageToken, link: MailLink, refusal?: FormRefusal): PageView {
  const { app, asksPassword, email } = link
  const parts = asksPassword ? [...passwordParts(link, email, refusal), secondFactorField(refusal)] : []
  const to = nameOf(app)
  return {
    ...headOf(refusal, 'Confirm your e-mail address'),
    place: to,
    body: html`<p>Is ${shown(email)} your address?</p>
${form({ ...place, after: asksPassword ? forgotPart : undefined }, 'Yes, confirm it', alert(generalFault(refusal, to)), ...parts)}`,
  }
}

function passwordParts({ app }: MailLink, account: string | undefined, refusal: FormRefusal | undefined): Html[] {
  const password = { name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' } as const
  const hint = `The password of the account for ${nameOf(app)}.`
  // Password managers find the password by the field of the account.
  const username = { name: 'email', label: 'Account', type: 'email', autocomplete: 'username', isFixed: true } as const
  return [
    ...(account === undefined ? [] : [field({ ...username, value: account })]),
    field({ ...password, hint }, refusal && withFaultOfCode(refusal)),
  ]
}

/**
 * For the links of a change of the address: to the present address of an account without a password, to the new one of such an
 * account, or to the new one of an account with a password.
 */
export function changeView(place: PageToken, link: MailLink, refusal?: FormRefusal): PageView {
  if (link.newEmail !== null) return allowChangeView(place, link, link.newEmail, refusal)
  if (!link.asksPassword) return changeCodeView(place, link)
  const to = nameOf(link.app)
  return {
    ...headOf(refusal, 'Confirm your e-mail address'),
    place: to,
    body: html`<p>Is ${shown(link.email)} the new address of your account? If you did not ask for this, close the page.</p>
${form(place, 'Yes, confirm it', alert(generalFault(refusal, to)), ...passwordParts(link, undefined, refusal))}`,
  }
}

function allowChangeView(place: PageToken, { app, email }: MailLink, newEmail: string, refusal?: FormRefusal): PageView {
  const to = nameOf(app)
  return {
    ...headOf(refusal, 'Change your e-mail address?'),
    place: to,
    body: html`<p>Someone who is signed in to your account wants to change its address from ${shown(email)} to ${shown(newEmail)}. If that was not you, close this page, and set a password with "forgot password" where you sign in.</p>
${form(place, 'Allow the change', alert(generalFault(refusal, to)))}`,
  }
}

/** The app, where the reader is signed in, confirms the address with the code. */
function changeCodeView({ token }: PageToken, { app, email }: MailLink): PageView {
  const place = nameOf(app)
  return {
    status: 200,
    title: 'Confirm your e-mail address',
    place,
    body: html`<p>To make ${shown(email)} the address of your account, copy this code into ${shown(place)}, where you are signed in.</p>
${codeField('Confirmation code', token)}<p>If you did not ask for this, close the page.</p>`,
  }
}

export function changeAllowedView({ app }: MailLink, newEmail: string): PageView {
  const body = html`<p>We are mailing a link to ${shown(newEmail)}. Your address changes when you confirm it there.</p>`
  return { status: 200, title: 'Look into the new mailbox', place: nameOf(app), body }
}

export function deletionView(place: PageToken, { app, email }: MailLink, refusal?: FormRefusal): PageView {
  const to = nameOf(app)
  return {
    ...headOf(refusal, 'Delete your account?'),
    place: to,
    body: html`<p>This deletes the account of ${shown(email)}, in every app that it can enter. It cannot be undone.</p>
${form(place, 'Delete the account', alert(generalFault(refusal, to)))}`,
  }
}

export function deletedView({ app }: MailLink): PageView {
  const body = html`<p>There is nothing more to do here.</p>`
  return { status: 200, title: 'Your account is deleted', place: nameOf(app), body }
}

/** For a reader whose address someone else has registered. A reset removes what that person set up, but not a second factor. */
const forgotPart = html`<p>If you did not choose a password, someone else entered your address. Set a password of your own: that ends what they set up. If a sign-in then asks for a code that you did not set up, use a sign-in link by e-mail instead.</p>
<button type="submit" name="forgot" value="yes" formnovalidate>I don’t know this password</button>
`

export function resetMailedView({ app, email }: MailLink): PageView {
  const body = html`<p>We are mailing a link to ${shown(email)}. Open it to set a new password. If no mail arrives, you have had several in the last minutes: try again later.</p>`
  return { status: 200, title: 'Look into your mailbox', place: nameOf(app), body }
}

export function disownView(place: PageToken, { app, email }: MailLink): PageView {
  return {
    status: 200,
    title: 'Was this not you?',
    place: nameOf(app),
    body: html`<p>Someone gave ${shown(email)} to ${shown(nameOf(app))}. If that was not you, delete the account that was created with it.</p>
${form(place, 'It was not me: delete the account')}`,
  }
}

export function undoView(place: PageToken, { app, email }: MailLink, refusal?: FormRefusal): PageView {
  const to = nameOf(app)
  return {
    ...headOf(refusal, 'Take back your e-mail address?'),
    place: to,
    body: html`<p>The address of your account was changed from ${shown(email)} to another one. If that was not you, take it back. This ends every session of the account, and removes the password, the second factor and the providers that came after the change.</p>
${form(place, 'Take it back', alert(generalFault(refusal, to)))}`,
  }
}

export function undoneView({ app, email }: MailLink): PageView {
  const to = nameOf(app)
  const body = html`<p>The address of your account is ${shown(email)} again. Now set a new password: we are mailing you a link for that. If no mail arrives, use "forgot password" where you sign in to ${shown(to)}.</p>`
  return { status: 200, title: 'Your e-mail address is back', place: to, body }
}

export function disownedView({ app }: MailLink): PageView {
  const body = html`<p>The account is deleted, unless someone has already confirmed it with its password. There is nothing more to do here.</p>`
  return { status: 200, title: 'Thank you', place: nameOf(app), body }
}

export function verifiedView(link: MailLink): PageView {
  const title = 'Your e-mail address is confirmed'
  return { status: 200, title, place: nameOf(link.app), body: onward(link, html`There is nothing more to do here.`) }
}

export function resetView(place: PageToken, { app, email }: MailLink, refusal?: FormRefusal): PageView {
  const newPassword = { type: 'password', autocomplete: 'new-password' } as const
  const hint = `At least ${MIN_PASSWORD_CHARACTERS} characters. Several unrelated words are easy to remember.`
  return {
    ...headOf(refusal, 'Choose a new password'),
    place: nameOf(app),
    body: form(
      place,
      'Set the new password',
      // Password managers store the new password under this field.
      field({ name: 'email', label: 'Account', type: 'email', autocomplete: 'username', value: email, isFixed: true }),
      field({ name: 'password', label: 'New password', hint, ...newPassword }, refusal),
      field({ name: 'password_again', label: 'New password again', ...newPassword }, refusal),
    ),
  }
}

export function passwordSetView(link: MailLink): PageView {
  const said = html`You can sign in to ${shown(nameOf(link.app))} with it now. You have been signed out everywhere.`
  return { status: 200, title: 'Your new password is set', place: nameOf(link.app), body: onward(link, said) }
}

export function magicLinkView(place: PageToken, { app, redirectUrl }: MailLink): PageView {
  const to = nameOf(app)
  return {
    status: 200,
    title: `Sign in to ${to}`,
    place: to,
    body: html`<p>If you did not ask for this, close the page. Nothing happens then.</p>\n${form(place, 'Sign in')}`,
    leadsTo: redirectUrl,
  }
}

/** For a link without a redirect URL: the reader copies the token into the app. */
export function loginCodeView({ token }: PageToken, { app, minutesLeft }: MailLink): PageView {
  const place = nameOf(app)
  return {
    status: 200,
    title: 'Your sign-in code',
    place,
    body: html`<p>Copy this code into ${shown(place)}. It works once, for ${minutesLeft} more ${minutesLeft === 1 ? 'minute' : 'minutes'}.</p>
${codeField('Sign-in code', token)}<p>Anyone who has it can sign in as you. Do not share it, and do not enter it anywhere else.</p>`,
  }
}

function onward({ app, redirectUrl }: MailLink, said: Html): Html {
  if (redirectUrl === null) return html`<p>${said}</p>`
  return html`<p>${said}</p>\n<p><a class="button" href="${redirectUrl}">Continue to ${shown(nameOf(app))}</a></p>`
}
