import { type Html, html, type PageView } from '../../lib/html.ts'
import { MIN_PASSWORD_CHARACTERS } from '../../lib/password.ts'
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
  wayOn,
  withFaultOfCode,
} from '../../pages/fields.ts'
import type { PageTexts } from '../../pages/texts/page-texts.ts'
import type { MailLink } from './mail-link.ts'

export function verifyView(place: PageToken, link: MailLink, refusal?: FormRefusal): PageView {
  const { texts, asksPassword, email } = link
  const { title, text, button } = texts.links.confirm
  return asking(place, link, refusal, {
    title,
    text: html`<p>${text(shown(email))}</p>`,
    button,
    parts: asksPassword ? [...passwordParts(link, email, refusal), secondFactorField(texts, refusal)] : [],
    after: asksPassword ? forgotPart(texts) : undefined,
  })
}

/** For a reader whose address someone else has registered. A reset removes what that person set up, but not a second factor. */
function forgotPart({ links: { notMine } }: PageTexts): Html {
  return html`<p>${notMine.text}</p>
<button type="submit" class="quiet" name="forgot" value="yes" formnovalidate>${notMine.button}</button>
`
}

function passwordParts({ app, texts }: MailLink, account: string | undefined, refusal: FormRefusal | undefined): Html[] {
  const { fields, hints } = texts
  const password = { name: 'password', label: fields.password, type: 'password', autocomplete: 'current-password' } as const
  const hint = hints.passwordOf(nameOf(app))
  // Password managers find the password by the field of the account.
  return [
    ...(account === undefined ? [] : [accountField(texts, account)]),
    field(texts, { ...password, hint }, refusal && withFaultOfCode(refusal)),
  ]
}

function accountField(texts: PageTexts, value: string): Html {
  const account = { name: 'email', type: 'email', autocomplete: 'username', isFixed: true } as const
  return field(texts, { ...account, label: texts.fields.account, value })
}

/**
 * For the links of a change of the address: to the present address of an account without a password, to the new one of such an
 * account, or to the new one of an account with a password.
 */
export function changeView(place: PageToken, link: MailLink, refusal?: FormRefusal): PageView {
  const { texts, app, email, newEmail } = link
  const { allowChange, confirm, confirmNew, newAddressCode } = texts.links
  if (newEmail !== null)
    return asking(place, link, refusal, {
      title: allowChange.title,
      text: html`<p>${allowChange.text(shown(email), shown(newEmail))}</p>`,
      button: allowChange.button,
    })
  if (link.asksPassword)
    return asking(place, link, refusal, {
      title: confirm.title,
      text: html`<p>${confirmNew(shown(email))}</p>`,
      button: confirm.button,
      parts: passwordParts(link, undefined, refusal),
    })
  // The app, where the reader is signed in, confirms the address with the code.
  const text = html`<p>${newAddressCode.text(shown(email), shown(nameOf(app)))}</p>
${codeField(newAddressCode.label, place.token)}<p>${newAddressCode.after}</p>`
  return telling(link, confirm.title, text)
}

export function changeAllowedView(link: MailLink, newEmail: string): PageView {
  const { title, text } = link.texts.links.changeAllowed
  return telling(link, title, html`<p>${text(shown(newEmail))}</p>`)
}

export function deletionView(place: PageToken, link: MailLink, refusal?: FormRefusal): PageView {
  const { title, text, button } = link.texts.links.delete
  return asking(place, link, refusal, { title, text: html`<p>${text(shown(link.email))}</p>`, button, isHarmful: true })
}

export function deletedView(link: MailLink): PageView {
  const { deleted, nothingMore } = link.texts.links
  return telling(link, deleted, html`<p>${nothingMore}</p>`)
}

export function resetMailedView(link: MailLink): PageView {
  const { title, text } = link.texts.links.resetMailed
  return telling(link, title, html`<p>${text(shown(link.email))}</p>`)
}

export function disownView(place: PageToken, link: MailLink, refusal?: FormRefusal): PageView {
  const { title, text, button } = link.texts.links.disown
  const asked = html`<p>${text(shown(link.email), shown(nameOf(link.app)))}</p>`
  return asking(place, link, refusal, { title, text: asked, button, isHarmful: true })
}

export function disownedView(link: MailLink): PageView {
  const { title, text } = link.texts.links.disowned
  return telling(link, title, html`<p>${text}</p>`)
}

export function secureView(place: PageToken, link: MailLink, refusal?: FormRefusal): PageView {
  const { title, text, button } = link.texts.links.secure
  return asking(place, link, refusal, { title, text: html`<p>${text(shown(link.email))}</p>`, button, isHarmful: true })
}

export function securedView(link: MailLink): PageView {
  const { title, text } = link.texts.links.secured
  return telling(link, title, html`<p>${text(shown(link.email))}</p>`)
}

export function undoView(place: PageToken, link: MailLink, refusal?: FormRefusal): PageView {
  const { title, text, button } = link.texts.links.undo
  return asking(place, link, refusal, { title, text: html`<p>${text(shown(link.email))}</p>`, button })
}

export function undoneView(link: MailLink): PageView {
  const { title, text } = link.texts.links.undone
  return telling(link, title, html`<p>${text(shown(link.email), shown(nameOf(link.app)))}</p>\n${wayOn(link.texts, link.app)}`)
}

export function verifiedView(link: MailLink): PageView {
  const { confirmed, nothingMore } = link.texts.links
  return telling(link, confirmed, onward(link, html`${nothingMore}`))
}

export function resetView(place: PageToken, link: MailLink, refusal?: FormRefusal): PageView {
  const { texts, app, email } = link
  const { fields, hints, mail } = texts
  const newPassword = { type: 'password', autocomplete: 'new-password' } as const
  const hint = hints.newPassword(MIN_PASSWORD_CHARACTERS)
  return {
    ...headOf(texts, refusal, mail.newPasswordTitle),
    place: app,
    body: form(
      place,
      mail.setPassword,
      // Password managers store the new password under this field.
      accountField(texts, email),
      field(texts, { name: 'password', label: fields.newPassword, hint, ...newPassword }, refusal),
      field(texts, { name: 'password_again', label: fields.newPasswordAgain, ...newPassword }, refusal),
    ),
  }
}

export function passwordSetView(link: MailLink): PageView {
  const { title, text } = link.texts.links.passwordSet
  return telling(link, title, onward(link, text(shown(nameOf(link.app)))))
}

export function magicLinkView(place: PageToken, link: MailLink, refusal?: FormRefusal): PageView {
  const { links, signIn } = link.texts
  const asked = asking(place, link, refusal, {
    title: links.signInTo(nameOf(link.app)),
    text: html`<p>${links.signInText}</p>`,
    button: signIn.button,
  })
  return { ...asked, leadsTo: link.redirectUrl ? [link.redirectUrl] : [] }
}

/** For a link without a redirect URL: the reader copies the token into the app. */
export function loginCodeView({ token }: PageToken, link: MailLink): PageView {
  const { texts, app, minutesLeft } = link
  const { title, text, label, after } = texts.links.code
  const body = html`<p>${text(shown(nameOf(app)), minutesLeft)}</p>
${codeField(label, token)}<p>${after}</p>`
  return telling(link, title, body)
}

function onward({ texts, app, redirectUrl }: MailLink, said: Html): Html {
  if (redirectUrl === null) return html`<p>${said}</p>\n${wayOn(texts, app)}`
  return html`<p>${said}</p>\n<p><a class="button" href="${redirectUrl}">${texts.links.continueTo(shown(nameOf(app)))}</a></p>`
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

function asking(place: PageToken, { texts, app }: MailLink, refusal: FormRefusal | undefined, question: Question): PageView {
  const { title, text, button, isHarmful, parts = [], after } = question
  const asked = form(
    { ...place, after, ...(isHarmful && { isHarmful }) },
    button,
    alert(generalFault(texts, refusal, nameOf(app))),
    ...parts,
  )
  return { ...headOf(texts, refusal, title), place: app, body: html`${text}\n${asked}` }
}

function telling({ texts, app }: MailLink, title: string, body: Html): PageView {
  return { status: 200, language: texts.language, title, place: app, body }
}
