import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import { MAX_NAME } from '../../lib/fields.ts'
import { randomText } from '../../lib/random.ts'
import { type RelyingParty, relyingPartyOf } from '../../lib/relying-party.ts'
import { isUuid } from '../../lib/uuid.ts'
import { algorithms, PasskeyError, verifyRegistration } from '../../lib/web-authn.ts'
import type { PasskeyRow } from '../../models/passkey.ts'
import { scriptUrl } from '../../pages/passkeys.ts'
import { addPasskey, listOwnPasskeys, mostPasskeys, removeOwnPasskey, renamePasskey } from '../../resources/passkeys/passkeys.ts'
import { userOf } from '../../resources/users/present.ts'
import { invalidPasskey, newChallenge, spendChallenge } from '../sign-in/passkey.ts'
import { challengeLifeMs, openField, sealField } from '../sign-in/sealed-fields.ts'
import { faultOfPasskey, passkeysBody } from './passkey-views.ts'
import type { AccountForm } from './schema.ts'
import type { Acting, Person, PersonActor, Section } from './section.ts'

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

function idIn({ id }: AccountForm): string {
  if (!isUuid(id)) throw new ApiError('not_found')
  return id
}

function nameIn({ name }: AccountForm): string {
  const given = name.trim()
  if (given === '') throw fieldError('name', 'required', 'is required')
  if (given.length > MAX_NAME) throw fieldError('name', 'too_long', `must have at most ${MAX_NAME} characters`)
  return given
}
