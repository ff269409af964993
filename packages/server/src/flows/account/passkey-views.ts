import { sectionPath } from '../../lib/account-sections.ts'
import type { Html } from '../../lib/html.ts'
import { html } from '../../lib/html.ts'
import type { PasskeyRow } from '../../models/passkey.ts'
import { dayOf, field, shown, textOfFault } from '../../pages/fields.ts'
import { passkeyFields } from '../../pages/passkeys.ts'
import type { PageTexts } from '../../pages/texts/page-texts.ts'
import type { SaidRefusal } from '../sign-in/sealed-fields.ts'
import { type Person, paragraph, sectionForm } from './section.ts'

interface Passkeys {
  owned: readonly PasskeyRow[]
  /** The host that passkeys belong to. Undefined where there can be none. */
  host: string | undefined
  /** What the browser needs to make a passkey. */
  adding: { options: object; field: string } | undefined
}

/** The passkeys of the person who is signed in. */
export function passkeysBody(person: Person, { owned, host, adding }: Passkeys): Html {
  const { none, noAddress } = person.texts.passkeys
  const list = owned.length === 0 ? paragraph(none) : owned.map((passkey) => item(person, passkey, host))
  return html`${list}${host === undefined && paragraph(noAddress)}${adding && addForm(person, adding)}`
}

function item(
  person: Person,
  { id, name, rp_id, backed_up, created_at, last_used_at }: PasskeyRow,
  host: string | undefined,
): Html {
  const { texts } = person
  const { added, notUsed, lastUsed, synchronized, elsewhere, rename, remove, name: label } = texts.passkeys
  const text = { id: `name-${id}`, name: 'name', label, type: 'text', autocomplete: 'off', value: name } as const
  const forms = () =>
    html`${sectionForm(
      'passkeys',
      person,
      { step: 'rename', values: { id }, button: rename, isQuiet: true },
      field(texts, text),
    )}${sectionForm('passkeys', person, { step: 'remove', values: { id }, button: remove(name), isQuiet: true })}`
  return html`<h2>${shown(name)}</h2>
${paragraph(
  added(dayOf(texts, created_at)),
  last_used_at === null ? notUsed : lastUsed(dayOf(texts, last_used_at)),
  backed_up === 1 && synchronized,
  rp_id !== host && elsewhere(shown(rp_id)),
)}${person.isFresh && forms()}`
}

/** The script sends it, so its button is none that submits. */
function addForm({ texts, hidden }: Person, adding: { options: object; field: string }): Html {
  const { add, newName, newNameValue, newNameHint, needsScript } = texts.passkeys
  const name = { id: 'new-name', name: 'name', label: newName, type: 'text', autocomplete: 'off' } as const
  const values = Object.entries({ ...hidden, step: 'add' })
  return html`<h2>${add}</h2>
<form method="post" action="${sectionPath('passkeys')}">
${values.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}${passkeyFields(texts, 'create', adding)}${field(texts, { ...name, value: newNameValue, hint: newNameHint })}<noscript><p>${needsScript}</p></noscript>
<button type="button" data-passkey-button hidden>${add}</button>
</form>
`
}

/** Undefined for what can go wrong elsewhere too. */
export function faultOfPasskey(texts: PageTexts, { code, faults }: SaidRefusal): string | undefined {
  const { refusals, name } = texts.passkeys
  switch (code) {
    case 'passkey_exists':
      return refusals.known
    case 'passkey_limit':
      return refusals.limit
    case 'not_found':
      return refusals.gone
    case 'validation_failed':
      return faults.name && `${textOfFault(texts, name, faults.name)}.`
    default:
      return undefined
  }
}
