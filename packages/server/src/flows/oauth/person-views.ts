import { type Html, html } from '../../lib/html.ts'
import { describeProgram } from '../../mail/describe-program.ts'
import type { DeviceCodeRow } from '../../models/device-code.ts'
import { enrolmentView, recoveryCodesView } from '../../pages/enrolment.ts'
import { alert, choice, nameOf, shown, stepForm } from '../../pages/fields.ts'
import { passkeyFields, scriptUrl } from '../../pages/passkeys.ts'
import type { PageTexts } from '../../pages/texts/page-texts.ts'
import type { AskedMail } from '../sign-in/sealed-fields.ts'
import type { Person, Refusal } from './next-step.ts'
import {
  action,
  anotherAccount,
  formRefusalOf,
  generalFaultOf,
  type Part,
  quietForm,
  type Shown,
  signedInAs,
} from './view-parts.ts'
import { mailView } from './who-views.ts'

/** For a person who has no other second factor than a passkey, and has not shown it. */
export function passkeyView(person: Person, view: Shown): Part {
  const { texts, hiddenFields, said, passkey } = view
  const values = Object.entries({ ...hiddenFields, step: 'use_passkey', keep: person.live.is_kept === 1 ? 'yes' : '' })
  return {
    title: texts.secondFactor.passkey,
    script: passkey && scriptUrl,
    body: html`${signedInAs(person, view)}<p>${texts.secondFactor.why(shown(nameOf(view.request.app)))}</p>
${alert(said && generalFaultOf(view, formRefusalOf(said)))}<form method="post" action="${action}">
${values.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}${passkey && passkeyFields(texts, 'get', passkey)}<button type="button" data-passkey-button hidden>${texts.signIn.passkey}</button>
</form>
<noscript><p>${texts.passkeys.needsScript}</p></noscript>
${anotherAccount(view)}`,
  }
}

/** For a person who has no second factor: they set one up here, and go on. */
export function enrolView(person: Person, view: Shown): Part {
  const { texts, pending, said, hiddenFields } = view
  const { secondFactor, account } = texts
  const why = html`${signedInAs(person, view)}<p>${secondFactor.why(shown(nameOf(view.request.app)))}`
  const refusal = formRefusalOf(said)
  if (pending) {
    const after = html`${quietForm(view, 'set_up', account.twoFactor.startAgain)}${anotherAccount(view)}`
    const form = { action, hidden: { ...hiddenFields, step: 'enrol' } }
    const fault = refusal && generalFaultOf(view, refusal)
    return enrolmentView(texts, { pending, form, refusal, fault, before: html`${why}</p>\n`, after })
  }
  return {
    title: secondFactor.missing.title,
    body: html`${why} ${secondFactor.missing.text}</p>
${alert(said && generalFaultOf(view, refusal))}${stepForm({ action, hidden: { ...hiddenFields, step: 'set_up' }, button: account.twoFactor.setUp })}${anotherAccount(view)}`,
  }
}

/** The recovery codes of a second factor that was just set up. */
export function codesView(codes: readonly string[], { texts, hiddenFields }: Shown): Part {
  const onward = stepForm({ action, hidden: { ...hiddenFields, step: 'restart' }, button: texts.signIn.continue })
  return recoveryCodesView(texts, { codes, onward })
}

/** Nobody joins an organization without having read its name. */
export function joinView(person: Person, view: Shown): Part {
  const { texts, inviting = '', request, hiddenFields, said } = view
  const app = nameOf(request.app)
  return {
    title: texts.join.title(inviting),
    body: html`${signedInAs(person, view)}<p>${texts.join.text(shown(inviting), shown(app), shown(hostOf(request.redirectUri)))}</p>
${alert(said && generalFaultOf(view, formRefusalOf(said)))}${stepForm({ action, hidden: { ...hiddenFields, step: 'join' }, button: texts.join.button })}${anotherAccount(view)}`,
  }
}

export function organizationView(person: Person, view: Shown): Part {
  const { organization, signIn } = view.texts
  const options = person.organizations.map(({ id, name, slug }) => ({ value: id, label: nameOf({ name, code: slug }) }))
  return {
    title: organization.title,
    body: html`${signedInAs(person, view)}${stepForm(
      { action, hidden: { ...view.hiddenFields, step: 'continue' }, button: signIn.continue },
      leadsTo(view),
      choice('organization_id', organization.legend, [...options, { value: '', label: organization.none }]),
    )}${anotherAccount(view)}`,
  }
}

/** Says what asks, and from where: somebody else may have begun it, and sent the code. */
function deviceView(person: Person, view: Shown, device: DeviceCodeRow): Part {
  const { texts, request, hiddenFields } = view
  const { ask } = texts.device
  const app = nameOf(request.app)
  const { program, system } = describeProgram(device.user_agent ?? '')
  const name = [program, system].filter((part) => part !== undefined).join(' · ')
  const at = new Intl.DateTimeFormat(texts.locale, { dateStyle: 'medium', timeStyle: 'long', timeZone: 'UTC' })
  const facts = [
    { label: ask.from.program, value: name },
    { label: ask.from.address, value: device.ip },
    { label: ask.from.time, value: at.format(device.created_at) },
  ]
  const rows = facts.map(({ label, value }) => value && html`<li>${label}: <bdi>${value}</bdi></li>\n`)
  return {
    title: ask.title(app),
    body: html`${signedInAs(person, view)}<p>${ask.text(shown(app))}</p>
<ul>
${rows}</ul>
<p>${ask.warning}</p>
${stepForm({ action, hidden: { ...hiddenFields, step: 'continue' }, button: ask.allow })}${quietForm(view, 'deny', ask.deny)}${anotherAccount(view)}`,
  }
}

export function continueView(person: Person, view: Shown): Part {
  if (view.request.device) return deviceView(person, view, view.request.device)
  const { continueTo, signIn } = view.texts
  return {
    title: continueTo(nameOf(view.request.app)),
    body: html`${signedInAs(person, view)}${leadsTo(view)}${stepForm({ action, hidden: { ...view.hiddenFields, step: 'continue' }, button: signIn.continue })}${anotherAccount(view)}`,
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

/** Why somebody may not enter, and what they can do. */
export function refusedView(why: Refusal, person: Person, view: Shown): Part {
  const { texts, said, hiddenFields } = view
  const { noAccess } = texts.refused
  const { title, text } = noteOf(why, texts, shown(nameOf(view.request.app)))
  const isAsked = said?.code === 'access_requested'
  const outcome = isAsked ? html`<p>${noAccess.asked}</p>\n` : alert(said && generalFaultOf(view, formRefusalOf(said)))
  const ask = why === 'app_access_denied' && !isAsked
  return {
    title,
    body: html`${signedInAs(person, view)}<p>${text}</p>
${outcome}${ask && stepForm({ action, hidden: { ...hiddenFields, step: 'ask_for_access' }, button: noAccess.ask })}${anotherAccount(view)}`,
  }
}

function noteOf(why: Refusal, { refused }: PageTexts, app: Html): { title: string; text: string | Html } {
  const told = ({ title, text }: { title: string; text(app: Html): Html }) => ({ title, text: text(app) })
  switch (why) {
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

/** For a person who has to verify their address before they may enter, or may ask for access. */
export function unverifiedView(
  { person, why, mail }: { person: Person; why: Refusal; mail: AskedMail | undefined },
  view: Shown,
): Part {
  const { texts } = view
  const app = shown(nameOf(view.request.app))
  if (why === 'email_unverified') return verifyView(texts.verify.why(app), { person, mail }, view)
  const { title, text } = noteOf(why, texts, app)
  return { ...verifyView(html`${text} ${texts.verify.toAsk}`, { person, mail }, view), title }
}

/** Asks for the code of a mail, or offers to send one. `why` says what a verified address is for. */
function verifyView(why: Html, { person, mail }: { person: Person; mail: AskedMail | undefined }, view: Shown): Part {
  const { texts, said, hiddenFields } = view
  if (mail) {
    const page = mailView(mail, view)
    return { ...page, body: html`<p>${why}</p>\n${page.body}${anotherAccount(view)}` }
  }
  const hidden = { ...hiddenFields, step: 'ask_mail', purpose: 'verify_email' }
  return {
    title: texts.verify.title,
    body: html`${signedInAs(person, view)}<p>${why}</p>
${alert(said && generalFaultOf(view, formRefusalOf(said)))}${stepForm({ action, hidden, button: texts.verify.button })}${anotherAccount(view)}`,
  }
}
