import type { ErrorCode } from '../../errors.ts'
import { accountPath, sectionPath } from '../../lib/account-sections.ts'
import { type Html, html, type PageView } from '../../lib/html.ts'
import { recoveryCodesView } from '../../pages/enrolment.ts'
import { alert, field, generalFault, nameOf, notice, shown, twoFactorCode } from '../../pages/fields.ts'
import { passkeyFields, scriptUrl } from '../../pages/passkeys.ts'
import type { DoneWord } from '../../pages/texts/account/account-texts.ts'
import type { PageTexts } from '../../pages/texts/page-texts.ts'
import type { PasskeyRequest } from '../sign-in/passkey.ts'
import type { SaidRefusal } from '../sign-in/sealed-fields.ts'
import { type Person, type Section, sectionForm } from './section.ts'

/** What every page of the account has. */
interface Frame {
  person: Person
  section: Section
  /** Where the person signs in again. Undefined if no app says how. */
  signIn: string | undefined
}

interface ShownSection {
  shown: Awaited<ReturnType<Section['show']>>
  done: DoneWord | 'deleted' | undefined
  /** Whether the person has to show first who they are. */
  asks: boolean
  passkey: PasskeyRequest | undefined
}

export function sectionView(frame: Frame, { shown: part, done, asks, passkey }: ShownSection): PageView {
  const { person, section } = frame
  const { texts, user, said, place } = person
  const { account } = texts
  return {
    status: 200,
    language: texts.language,
    title: part.title ?? section.title(texts),
    place,
    script: part.script ?? (passkey && scriptUrl),
    leadsTo: part.leadsTo ?? [],
    body: html`<p>${texts.signIn.signedInAs(shown(user.email))}</p>
${notice(done === undefined || done === 'deleted' ? undefined : account.done[done])}${alert(textOf(frame, said))}${part.body}${asks && proveForm(frame, passkey)}${backLink(person, section)}`,
  }
}

/** What the last form has met. Undefined if that is said at a field. */
function textOf({ person, section }: Frame, said: SaidRefusal | undefined): string | undefined {
  return said && ((section.faultOf?.(person.texts, said) ?? faultOf(person, said)) || undefined)
}

/** Recovery codes, right after they were made. */
export function codesView({ person, section }: Frame, codes: readonly string[]): PageView {
  const { texts, place, query } = person
  const onward = html`<p><a class="button" href="${accountPath(section.name, query)}">${texts.recoveryCodes.button}</a></p>\n`
  return { status: 200, language: texts.language, place, ...recoveryCodesView(texts, { codes, onward }) }
}

function backLink({ texts, query }: Person, { name }: Section): Html | undefined {
  if (name === 'overview') return undefined
  return html`<p class="onward"><a href="${accountPath('overview', query)}">${texts.account.back}</a></p>\n`
}

/** Asks in place for what the person signs in with. */
function proveForm({ person, section, signIn }: Frame, passkey: PasskeyRequest | undefined): Html {
  const { texts, user, live, refusal, hidden } = person
  const { prove } = texts.account
  // Only the passkey shows a second factor then.
  const isByPasskey = passkey !== undefined && live.factor_activated_at === null && Boolean(live.demands_second)
  const hasPassword = user.password_hash !== null && !isByPasskey
  const otherWay = isByPasskey
    ? html`<noscript><p>${texts.passkeys.needsScript}</p></noscript>\n`
    : signIn
      ? html`<p><a class="button${(hasPassword || passkey) && ' quiet'}" href="${signIn}">${texts.passkeys.signInAgain}</a></p>\n`
      : !hasPassword && !passkey && html`<p>${texts.passkeys.comeBack}</p>\n`
  const password = { id: 'present-password', name: 'password', label: texts.fields.password, type: 'password' } as const
  const account = { id: 'account', name: 'account', label: texts.fields.account, type: 'email' } as const
  return html`<section>
<h2>${prove.title}</h2>
<p>${isByPasskey ? prove.passkey : prove.text}</p>
${
  passkey &&
  html`<form method="post" action="${sectionPath(section.name)}">
${Object.entries({ ...hidden, step: 'prove' }).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}${passkeyFields(texts, 'get', passkey)}<button type="button"${!isByPasskey && html` class="quiet"`} data-passkey-button hidden>${texts.signIn.passkey}</button>
</form>
`
}${
  hasPassword &&
  sectionForm(
    section.name,
    person,
    { step: 'prove', button: prove.button },
    // Password managers find the password by the field of the account.
    html`<div hidden>${field(texts, { ...account, autocomplete: 'username', value: user.email, isFixed: true })}</div>`,
    field(texts, { ...password, autocomplete: 'current-password' }, refusal),
    live.factor_activated_at === null ? undefined : field(texts, twoFactorCode(texts), refusal),
  )
}${otherWay}</section>
`
}

function faultOf({ texts, refusal, place }: Person, { code }: SaidRefusal): string | undefined {
  const { refusals } = texts.account
  const words: Record<string, string | undefined> = {
    fresh_login_required: refusals.fresh,
    invalid_credentials: refusals.password,
    invalid_passkey: texts.passkeys.refusals.other,
    last_sign_in_method: texts.passkeys.refusals.last,
    last_organization_admin: refusals.lastOrganizationAdmin,
    last_system_admin: refusals.lastAdmin,
    email_exists_in_pool: refusals.emailTaken,
    email_unverified: texts.refusals.unverified,
    invalid_token: texts.passkeys.refusals.tooLong,
    already_member: refusals.gone,
    organization_admin_required: refusals.gone,
    two_factor_active: refusals.gone,
    two_factor_not_set_up: refusals.gone,
    access_granted: refusals.gone,
    invalid_invitation: texts.refusals.invitation,
    not_found: refusals.gone,
    two_factor_required: textOfMissingCode(texts),
  } satisfies Partial<Record<ErrorCode, string | undefined>>
  if (code in words) return words[code]
  return generalFault(texts, refusal, place ? nameOf(place) : '')
}

function textOfMissingCode({ faults, fields }: PageTexts): string {
  return `${faults.required(fields.twoFactorCode, 0)}.`
}
