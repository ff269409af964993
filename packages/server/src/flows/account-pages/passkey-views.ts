import type { Html } from '../../lib/html.ts'
import { html, type PageView } from '../../lib/html.ts'
import { iso } from '../../lib/timestamps.ts'
import type { PasskeyRow } from '../../models/passkey.ts'
import { alert, field, shown, stepForm } from '../../pages/fields.ts'
import { passkeyFields, scriptUrl } from '../../pages/passkeys.ts'
import type { SaidRefusal } from '../sign-in/sealed-fields.ts'

const action = '/account/passkeys'

interface PasskeysPage {
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
  const { user, passkeys, app, place, isFresh, host, adding, again, refusal } = page
  const hidden = { field: page.field, app: app?.code ?? '' }
  const none = html`<p>You have no passkey yet. With one, you sign in as you unlock your device: by fingerprint, face or PIN.</p>\n`
  const signInAgain = again
    ? html`<p><a class="button" href="${again}">Sign in again to change something</a></p>\n`
    : html`<p>To change something, sign in to an app again, and come back within ten minutes.</p>\n`
  return {
    status: 200,
    title: 'Your passkeys',
    place,
    script: adding && scriptUrl,
    body: html`<p>You are signed in as ${shown(user.email)}.</p>
${alert(refusal && faultOf(refusal))}${passkeys.length === 0 ? none : passkeys.map((passkey) => item(passkey, { hidden, isFresh, host }))}${host === undefined && html`<p>This service has no address at which passkeys work.</p>\n`}${isFresh ? adding && addForm(adding, hidden) : signInAgain}`,
  }
}

function item(
  { id, name, rp_id, backed_up, created_at, last_used_at }: PasskeyRow,
  { hidden, isFresh, host }: { hidden: Record<string, string>; isFresh: boolean; host: string | undefined },
): Html {
  const used = last_used_at === null ? 'not used yet' : `last used ${dayOf(last_used_at)}`
  const facts = [`Added ${dayOf(created_at)}, ${used}.`, backed_up === 1 ? 'It is synchronized between your devices.' : '']
  const elsewhere = rp_id === host ? undefined : html` It belongs to ${shown(rp_id)} and does not work here.`
  const forms = html`${stepForm(
    { action, hidden: { ...hidden, step: 'rename', id }, button: 'Rename', isQuiet: true },
    field({ id: `name-${id}`, name: 'name', label: 'Name', type: 'text', autocomplete: 'off', value: name }),
  )}${stepForm({ action, hidden: { ...hidden, step: 'remove', id }, button: `Remove ${name}`, isQuiet: true })}`
  return html`<h2>${shown(name)}</h2>
<p>${facts.filter((fact) => fact !== '').join(' ')}${elsewhere}</p>
${isFresh && forms}`
}

function addForm(adding: { options: object; field: string }, hidden: Record<string, string>): Html {
  const name = { id: 'new-name', name: 'name', label: 'Name of the new passkey', type: 'text', autocomplete: 'off' } as const
  return html`<h2>Add a passkey</h2>
<form method="post" action="${action}">
<input type="hidden" name="field" value="${hidden.field}">
<input type="hidden" name="app" value="${hidden.app}">
<input type="hidden" name="step" value="add">
${passkeyFields('create', adding)}${field({ ...name, value: 'My device', hint: 'So that you know it again.' })}<noscript><p>Passkeys need JavaScript.</p></noscript>
<button type="button" data-passkey-button hidden>Add a passkey</button>
</form>
`
}

function dayOf(ms: number): string {
  return iso(ms).slice(0, 10)
}

function faultOf({ code, faults }: SaidRefusal): string {
  switch (code) {
    case 'fresh_login_required':
      return 'Sign in again first: your last sign-in is more than ten minutes ago.'
    case 'last_sign_in_method':
      return 'This is your only way to sign in. Set a password or add another passkey first.'
    case 'passkey_exists':
      return 'This passkey is in use here already.'
    case 'passkey_limit':
      return 'You have as many passkeys as you can have. Remove one first.'
    case 'invalid_token':
      return 'That took too long. Try again.'
    case 'not_found':
      return 'This passkey was removed already.'
    case 'validation_failed':
      return Object.entries(faults)
        .map(([, message]) => `The name ${message}.`)
        .join(' ')
    default:
      return 'This passkey cannot be used here. Try another device.'
  }
}

/** For somebody who is not signed in and names no app: nothing says where they could sign in. */
export const noAppView: PageView = {
  status: 400,
  title: 'Open this page from one of your apps',
  body: html`<p>You are not signed in here, and the address names no app.</p>`,
}
