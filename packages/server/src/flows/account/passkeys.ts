import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import { sectionPath } from '../../lib/account-sections.ts'
import { MAX_NAME } from '../../lib/fields.ts'
import { type Html, html } from '../../lib/html.ts'
import { randomText } from '../../lib/random.ts'
import { algorithms, PasskeyError, type RelyingParty, relyingPartyOf, verifyRegistration } from '../../lib/web-authn.ts'
import type { PasskeyRow } from '../../models/passkey.ts'
import { dayOf, field, shown, textOfFault } from '../../pages/fields.ts'
import { passkeyFields, scriptUrl } from '../../pages/passkeys.ts'
import type { PageTexts } from '../../pages/texts/page-texts.ts'
import { addPasskey, listOwnPasskeys, mostPasskeys, removeOwnPasskey, renamePasskey } from '../../resources/passkeys/passkeys.ts'
import { userOf } from '../../resources/users/present.ts'
import { invalidPasskey, newChallenge, spendChallenge } from '../sign-in/passkey.ts'
import { challengeLifeMs, openField, type SaidRefusal, sealField } from '../sign-in/sealed-fields.ts'
import type { AccountForm } from './schema.ts'
import { type Acting, idIn, type Person, type PersonActor, paragraph, type Section, sectionForm } from './section.ts'

interface Passkeys {
  owned: readonly PasskeyRow[]
  /** The host that passkeys belong to. Undefined where there can be none. */
  host: string | undefined
  /** What the browser needs to make a passkey. */
  adding: { options: object; field: string } | undefined
}

/** The passkeys of the person who is signed in. */
function passkeysBody(person: Person, { owned, host, adding }: Passkeys): Html {
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
function faultOfPasskey(texts: PageTexts, { code, faults }: SaidRefusal): string | undefined {
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

/** Where a person sees and changes their passkeys. */
export const passkeys: Section = {
  name: 'passkeys',
  title: (texts) => texts.passkeys.title,
  faultOf: faultOfPasskey,
  async show(deps, person) {
    const party = relyingPartyOf(deps.config.publicUrl)
    const owned = await listOwnPasskeys(deps, person.user.id)
    const mayAdd = person.isFresh && party !== undefined && owned.length < mostPasskeys
    const adding = mayAdd ? await askForNewPasskey(deps, person, { owned, party }) : undefined
    return { body: passkeysBody(person, { owned, host: party?.id, adding }), script: adding && scriptUrl }
  },
  steps: {
    async add(deps, form, acting, actor) {
      await add(deps, form, acting, actor)
      return undefined
    },
    async rename(deps, form, _, { caller }) {
      await renamePasskey(deps, caller, { id: idIn(form), name: nameIn(form) })
      return undefined
    },
    async remove(deps, form, _, actor) {
      await removeOwnPasskey(deps, actor.caller, idIn(form), actor)
      return undefined
    },
  },
}

/** What a page needs to have the browser make a passkey. The handle of a first passkey is made up, and kept only if it is added. */
async function askForNewPasskey(
  deps: Deps,
  { live, browser }: Pick<Person, 'live' | 'browser'>,
  { owned, party }: { owned: PasskeyRow[]; party: RelyingParty },
): Promise<{ options: object; field: string }> {
  const { id, email } = userOf(live)
  const { challenge, sealedAt } = await newChallenge(deps)
  const userHandle = owned[0]?.user_handle ?? randomText(32)
  const options = {
    challenge,
    rp: { id: party.id, name: party.id },
    user: { id: userHandle, name: email, displayName: email },
    pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
    excludeCredentials: owned
      .filter(({ rp_id }) => rp_id === party.id)
      .map(({ credential_id, transports }) => ({ type: 'public-key', id: credential_id, transports: JSON.parse(transports) })),
    extensions: { credProps: true },
    timeout: challengeLifeMs,
  }
  const sealed = { challenge, sealedAt, userId: id, userHandle }
  return { options, field: sealField(deps, 'new_passkey', browser, sealed) }
}

/** Verifies the new passkey before the transaction, since that takes long the first time. */
async function add(deps: Deps<Pool>, form: AccountForm, { browser }: Acting, actor: PersonActor): Promise<void> {
  const name = nameIn(form)
  const party = relyingPartyOf(deps.config.publicUrl)
  const { challenge, userId, userHandle } = await spendChallenge(
    deps,
    openField(deps, 'new_passkey', browser, form.passkey_challenge),
  )
  if (!party || userId !== actor.caller.userId) throw new ApiError('invalid_token')
  const made = await verifyRegistration(party, { sent: form.passkey, challenge }).catch((error: unknown) => {
    throw error instanceof PasskeyError ? invalidPasskey(error.fault) : error
  })
  await addPasskey(deps, actor.caller, { made, name, rpId: party.id, userHandle }, actor)
}

function nameIn({ name }: AccountForm): string {
  const given = name.trim()
  if (given === '') throw fieldError('name', 'required', 'is required')
  if (given.length > MAX_NAME) throw fieldError('name', 'too_long', `must have at most ${MAX_NAME} characters`)
  return given
}
