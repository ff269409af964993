import { type Html, html, type PageView } from '../../lib/html.ts'
import { MIN_PASSWORD_CHARACTERS } from '../../lib/password-policy.ts'
import {
  alert,
  codeField,
  type FormRefusal,
  field,
  form,
  generalFault,
  headOf,
  nameOf,
  type PageToken,
  secondFactorField,
  shown,
  withFaultOfCode,
} from '../../pages/fields.ts'
import type { MailLink } from './mail-link.ts'

export function verifyView(place: PageToken, link: MailLink, refusal?: FormRefusal): PageView {
  const { asksPassword, email } = link
  return asking(place, link, refusal, {
    title: 'Confirm your e-mail address',
    text: html`<p>Is ${shown(email)} your address?</p>`,
    button: 'Yes, confirm it',
    parts: asksPassword ? [...passwordParts(link, email, refusal), secondFactorField(refusal)] : [],
    after: asksPassword ? forgotPart : undefined,
  })
}

/** For a reader whose address someone else has registered. A reset removes what that person set up, but not a second factor. */
const forgotPart = html`<p>If you did not choose a password, someone else entered your address. Set a password of your own: that ends what they set up. If a sign-in then asks for a code that you did not set up, use a sign-in link by e-mail instead.</p>
<button type="submit" name="forgot" value="yes" formnovalidate>I don’t know this password</button>
`

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
  const { app, email, newEmail } = link
  if (newEmail !== null)
    return asking(place, link, refusal, {
      title: 'Change your e-mail address?',
      text: html`<p>Someone who is signed in to your account wants to change its address from ${shown(email)} to ${shown(newEmail)}. If that was not you, close this page, and set a password with "forgot password" where you sign in.</p>`,
      button: 'Allow the change',
    })
  const title = 'Confirm your e-mail address'
  if (link.asksPassword)
    return asking(place, link, refusal, {
      title,
      text: html`<p>Is ${shown(email)} the new address of your account? If you did not ask for this, close the page.</p>`,
      button: 'Yes, confirm it',
      parts: passwordParts(link, undefined, refusal),
    })
  // The app, where the reader is signed in, confirms the address with the code.
  const text = html`<p>To make ${shown(email)} the address of your account, copy this code into ${shown(nameOf(app))}, where you are signed in.</p>
${codeField('Confirmation code', place.token)}<p>If you did not ask for this, close the page.</p>`
  return telling(link, title, text)
}

export function changeAllowedView(link: MailLink, newEmail: string): PageView {
  const text = html`<p>We are mailing a link to ${shown(newEmail)}. Your address changes when you confirm it there.</p>`
  return telling(link, 'Look into the new mailbox', text)
}

export function deletionView(place: PageToken, link: MailLink, refusal?: FormRefusal): PageView {
  return asking(place, link, refusal, {
    title: 'Delete your account?',
    text: html`<p>This deletes the account of ${shown(link.email)}, in every app that it can enter. It cannot be undone.</p>`,
    button: 'Delete the account',
    isHarmful: true,
  })
}

export function deletedView(link: MailLink): PageView {
  return telling(link, 'Your account is deleted', html`<p>There is nothing more to do here.</p>`)
}

export function resetMailedView(link: MailLink): PageView {
  const text = html`<p>We are mailing a link to ${shown(link.email)}. Open it to set a new password. If no mail arrives, you have had several in the last minutes: try again later.</p>`
  return telling(link, 'Look into your mailbox', text)
}

export function disownView(place: PageToken, link: MailLink, refusal?: FormRefusal): PageView {
  return asking(place, link, refusal, {
    title: 'Was this not you?',
    text: html`<p>Someone gave ${shown(link.email)} to ${shown(nameOf(link.app))}. If that was not you, delete the account that was created with it.</p>`,
    button: 'It was not me: delete the account',
    isHarmful: true,
  })
}

export function disownedView(link: MailLink): PageView {
  const text = html`<p>The account is deleted, unless someone has already confirmed it with its password. There is nothing more to do here.</p>`
  return telling(link, 'Thank you', text)
}

export function undoView(place: PageToken, link: MailLink, refusal?: FormRefusal): PageView {
  return asking(place, link, refusal, {
    title: 'Take back your e-mail address?',
    text: html`<p>The address of your account was changed from ${shown(link.email)} to another one. If that was not you, take it back. This ends every session of the account, and removes the password, the second factor and the providers that came after the change.</p>`,
    button: 'Take it back',
  })
}

export function undoneView(link: MailLink): PageView {
  const text = html`<p>The address of your account is ${shown(link.email)} again. Now set a new password: we are mailing you a link for that. If no mail arrives, use "forgot password" where you sign in to ${shown(nameOf(link.app))}.</p>`
  return telling(link, 'Your e-mail address is back', text)
}

export function verifiedView(link: MailLink): PageView {
  return telling(link, 'Your e-mail address is confirmed', onward(link, html`There is nothing more to do here.`))
}

export function resetView(place: PageToken, link: MailLink, refusal?: FormRefusal): PageView {
  const newPassword = { type: 'password', autocomplete: 'new-password' } as const
  const hint = `At least ${MIN_PASSWORD_CHARACTERS} characters. Several unrelated words are easy to remember.`
  return {
    ...headOf(refusal, 'Choose a new password'),
    place: link.app,
    body: form(
      place,
      'Set the new password',
      // Password managers store the new password under this field.
      field({ name: 'email', label: 'Account', type: 'email', autocomplete: 'username', value: link.email, isFixed: true }),
      field({ name: 'password', label: 'New password', hint, ...newPassword }, refusal),
      field({ name: 'password_again', label: 'New password again', ...newPassword }, refusal),
    ),
  }
}

export function passwordSetView(link: MailLink): PageView {
  const said = html`You can sign in to ${shown(nameOf(link.app))} with it now. You have been signed out everywhere.`
  return telling(link, 'Your new password is set', onward(link, said))
}

export function magicLinkView(place: PageToken, link: MailLink, refusal?: FormRefusal): PageView {
  const asked = asking(place, link, refusal, {
    title: `Sign in to ${nameOf(link.app)}`,
    text: html`<p>If you did not ask for this, close the page. Nothing happens then.</p>`,
    button: 'Sign in',
  })
  return { ...asked, leadsTo: link.redirectUrl ? [link.redirectUrl] : [] }
}

/** For a link without a redirect URL: the reader copies the token into the app. */
export function loginCodeView({ token }: PageToken, link: MailLink): PageView {
  const { app, minutesLeft } = link
  const text = html`<p>Copy this code into ${shown(nameOf(app))}. It works once, for ${minutesLeft} more ${minutesLeft === 1 ? 'minute' : 'minutes'}.</p>
${codeField('Sign-in code', token)}<p>Anyone who has it can sign in as you. Do not share it, and do not enter it anywhere else.</p>`
  return telling(link, 'Your sign-in code', text)
}

function onward({ app, redirectUrl }: MailLink, said: Html): Html {
  if (redirectUrl === null) return html`<p>${said}</p>`
  return html`<p>${said}</p>\n<p><a class="button" href="${redirectUrl}">Continue to ${shown(nameOf(app))}</a></p>`
}

interface Question {
  title: string
  text: Html
  button: string
  /** Whether the button destroys something. */
  isHarmful?: boolean
  parts?: readonly (Html | undefined)[]
  after?: Html | undefined
}

function asking(place: PageToken, { app }: MailLink, refusal: FormRefusal | undefined, question: Question): PageView {
  const { title, text, button, isHarmful, parts = [], after } = question
  const asked = form(
    { ...place, after, ...(isHarmful && { isHarmful }) },
    button,
    alert(generalFault(refusal, nameOf(app))),
    ...parts,
  )
  return { ...headOf(refusal, title), place: app, body: html`${text}\n${asked}` }
}

function telling({ app }: MailLink, title: string, body: Html): PageView {
  return { status: 200, title, place: app, body }
}
