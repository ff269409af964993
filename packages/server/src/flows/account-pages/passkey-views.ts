import type { Html } from '../../lib/html.ts'
import { html, type PageView } from '../../lib/html.ts'
import type { PasskeyRow } from '../../models/passkey.ts'
import { alert, field, shown, stepForm, textOfFault } from '../../pages/fields.ts'
import { passkeyFields, scriptUrl } from '../../pages/passkeys.ts'
import type { PageTexts } from '../../pages/texts/page-texts.ts'
import type { SaidRefusal } from '../sign-in/sealed-fields.ts'

const action = '/account/passkeys'

interface PasskeysPage {
  texts: PageTexts
  user: { email: string }
  passkeys: readonly PasskeyRow[]
  app: { code: string } | undefined
  place: PageView['place']
  /** Whether the person has just shown all that they have. */
  isFresh: boolean
  /** The host that passkeys belong to. Undefined where there can be none. */
  host: string | undefined
  /** The sealed field of the forms. */
  field: string
  refusal: SaidRefusal | undefined
  /** What the browser needs to make a passkey. */
  adding: { options: object; field: string } | undefined
  /** Where the person signs in again. */
  again: string | undefined
}

/** The passkeys of the person who is signed in. */
export function passkeysView(page: PasskeysPage): PageView {
  const { texts, user, passkeys, app, place, isFresh, host, adding, again, refusal } = page
  const { title, none, signInAgain, comeBack, noAddress } = texts.passkeys
  const hidden = { field: page.field, app: app?.code ?? '' }
  const stale = again ? html`<p><a class="button" href="${again}">${signInAgain}</a></p>\n` : html`<p>${comeBack}</p>\n`
  return {
    status: 200,
    language: texts.language,
    title,
    place,
    script: adding && scriptUrl,
    body: html`<p>${texts.signIn.signedInAs(shown(user.email))}</p>
${alert(refusal && faultOf(texts, refusal))}${passkeys.length === 0 ? html`<p>${none}</p>\n` : passkeys.map((passkey) => item(texts, passkey, { hidden, isFresh, host }))}${host === undefined && html`<p>${noAddress}</p>\n`}${isFresh ? adding && addForm(texts, adding, hidden) : stale}`,
  }
}

function item(
  texts: PageTexts,
  { id, name, rp_id, backed_up, created_at, last_used_at }: PasskeyRow,
  { hidden, isFresh, host }: { hidden: Record<string, string>; isFresh: boolean; host: string | undefined },
): Html {
  const { added, notUsed, lastUsed, synchronized, elsewhere, rename, remove, name: label } = texts.passkeys
  const facts: (string | Html)[] = [
    added(dayOf(texts, created_at)),
    last_used_at === null ? notUsed : lastUsed(dayOf(texts, last_used_at)),
    ...(backed_up === 1 ? [synchronized] : []),
    ...(rp_id === host ? [] : [elsewhere(shown(rp_id))]),
  ]
  const forms = html`${stepForm(
    { action, hidden: { ...hidden, step: 'rename', id }, button: rename, isQuiet: true },
    field(texts, { id: `name-${id}`, name: 'name', label, type: 'text', autocomplete: 'off', value: name }),
  )}${stepForm({ action, hidden: { ...hidden, step: 'remove', id }, button: remove(name), isQuiet: true })}`
  return html`<h2>${shown(name)}</h2>
<p>${facts.map((fact, index) => html`${index > 0 && ' '}${fact}`)}</p>
${isFresh && forms}`
}

function addForm(texts: PageTexts, adding: { options: object; field: string }, hidden: Record<string, string>): Html {
  const { add, newName, newNameValue, newNameHint, needsScript } = texts.passkeys
  const name = { id: 'new-name', name: 'name', label: newName, type: 'text', autocomplete: 'off' } as const
  return html`<h2>${add}</h2>
<form method="post" action="${action}">
<input type="hidden" name="field" value="${hidden.field}">
<input type="hidden" name="app" value="${hidden.app}">
<input type="hidden" name="step" value="add">
${passkeyFields(texts, 'create', adding)}${field(texts, { ...name, value: newNameValue, hint: newNameHint })}<noscript><p>${needsScript}</p></noscript>
<button type="button" data-passkey-button hidden>${add}</button>
</form>
`
}

function dayOf({ locale }: PageTexts, ms: number): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }).format(ms)
}

function faultOf(texts: PageTexts, { code, faults }: SaidRefusal): string {
  const { refusals, name } = texts.passkeys
  switch (code) {
    case 'fresh_login_required':
      return refusals.fresh
    case 'last_sign_in_method':
      return refusals.last
    case 'passkey_exists':
      return refusals.known
    case 'passkey_limit':
      return refusals.limit
    case 'invalid_token':
      return refusals.tooLong
    case 'not_found':
      return refusals.gone
    case 'validation_failed':
      return `${textOfFault(texts, name, faults.name ?? 'invalid')}.`
    default:
      return refusals.other
  }
}
