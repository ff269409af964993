import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type ErrorCode, fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Cookies } from '../../lib/cookies.ts'
import { MAX_NAME } from '../../lib/fields.ts'
import type { PagePlace } from '../../lib/html.ts'
import { newOpaqueToken, TOKEN_PREFIXES } from '../../lib/opaque-token.ts'
import { randomText } from '../../lib/random.ts'
import { type RelyingParty, relyingPartyOf } from '../../lib/relying-party.ts'
import { isUuid } from '../../lib/uuid.ts'
import { algorithms, PasskeyError, verifyRegistration } from '../../lib/web-authn.ts'
import type { LiveBrowserSession } from '../../models/browser-session.ts'
import type { PasskeyRow } from '../../models/passkey.ts'
import { placeOf } from '../../pages/place.ts'
import { textsFor } from '../../pages/texts/texts-for.ts'
import { readCatalog } from '../../resources/catalog/read-catalog.ts'
import { addPasskey, listOwnPasskeys, mostPasskeys, removeOwnPasskey, renamePasskey } from '../../resources/passkeys/passkeys.ts'
import { callerOfBrowser, findBrowserSession } from '../../resources/sessions/browser-sessions.ts'
import { userOf } from '../../resources/users/present.ts'
import { assertPagesOn } from '../oauth/authorize.ts'
import { startAgainView, toldView } from '../oauth/error-views.ts'
import { browserSeconds, type PageAnswer, refusalOf } from '../oauth/pages.ts'
import { invalidPasskey, newChallenge, spendChallenge } from '../sign-in/passkey.ts'
import { challengeLifeMs, openField, requestLifeMs, sealField } from '../sign-in/sealed-fields.ts'
import { passkeysView } from './passkey-views.ts'
import type { PasskeyForm } from './schema.ts'

export type { PageAnswer }

const path = '/account/passkeys'

/** The page where a person sees and changes their passkeys. Somebody who is not signed in is asked to, and comes back. */
export async function showPasskeys(
  deps: Deps,
  { app: code, said }: { app: string; said: string },
  cookies: Cookies,
  { origin }: Pick<Actor, 'origin'>,
): Promise<PageAnswer> {
  assertPagesOn(deps)
  const live = await findBrowserSession(deps, cookies.session)
  const app = await findAppOfPage(deps, code)
  const place = app && placeOf(deps.config, app)
  const locale = live && userOf(live).locale
  const texts = textsFor({ accepts: origin.languages, locale, place })
  if (!live) return app ? { location: signInPath(app.code) } : { view: toldView(texts, texts.passkeys.noApp, 400) }
  const browser = cookies.browser ?? newOpaqueToken(TOKEN_PREFIXES.browser)
  const known = cookies.browser === undefined ? { cookies: { browser: { value: browser, seconds: browserSeconds } } } : {}
  const now = deps.clock()
  const user = userOf(live)
  const party = relyingPartyOf(deps.config.publicUrl)
  const passkeys = await listOwnPasskeys(deps, user.id)
  const isFresh = refuseChange(deps, live) === undefined
  const outcome = openField(deps, 'account', browser, said || undefined)
  const mayAdd = isFresh && party !== undefined && passkeys.length < mostPasskeys
  const view = passkeysView({
    ...{ texts, user, passkeys, app, place, isFresh, host: party?.id },
    field: sealField(deps, 'account', browser, { userId: user.id, sealedAt: now }),
    refusal: outcome?.userId === user.id ? outcome.refusal : undefined,
    adding: mayAdd ? await askForNewPasskey(deps, { live, passkeys, party, browser }) : undefined,
    again: app && `${signInPath(app.code)}&prompt=login`,
  })
  return { view, ...known }
}

function signInPath(code: string): string {
  return `/oauth/authorize?client_id=${encodeURIComponent(code)}&account=passkeys`
}

/** The app whose pools and look count for somebody who signs in for the page: the named one, or else the default one. */
async function findAppOfPage(deps: Deps, named: string) {
  const code = named || deps.config.defaultAppCode
  const app = code === undefined ? undefined : await (await readCatalog(deps)).findApp({ code })
  return app?.status === 'active' ? app : undefined
}

/** The app that a form of the page names, which anybody can have written. */
export async function findPlaceOfPage(deps: Deps, { app: code }: { app: string }): Promise<PagePlace | undefined> {
  const app = await findAppOfPage(deps, code)
  return app && placeOf(deps.config, app)
}

/** What a page needs to have the browser make a passkey. The handle of a first passkey is made up, and kept only if it is added. */
async function askForNewPasskey(
  deps: Deps,
  { live, passkeys, party, browser }: { live: LiveBrowserSession; passkeys: PasskeyRow[]; party: RelyingParty; browser: string },
): Promise<{ options: object; field: string }> {
  const { id, email } = userOf(live)
  const { challenge, sealedAt } = await newChallenge(deps)
  const userHandle = passkeys[0]?.user_handle ?? randomText(32)
  const options = {
    challenge,
    rp: { id: party.id, name: party.id },
    user: { id: userHandle, name: email, displayName: email },
    pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
    excludeCredentials: passkeys
      .filter(({ rp_id }) => rp_id === party.id)
      .map(({ credential_id, transports }) => ({ type: 'public-key', id: credential_id, transports: JSON.parse(transports) })),
    extensions: { credProps: true },
    timeout: challengeLifeMs,
  }
  const sealed = { challenge, sealedAt, userId: id, userHandle }
  return { options, field: sealField(deps, 'new_passkey', browser, sealed) }
}

/** Why the person may not change how they sign in. Undefined if they have just shown all that they have. */
function refuseChange(deps: Deps, live: LiveBrowserSession) {
  const at = { now: deps.clock(), factorSince: live.factor_activated_at }
  return callerOfBrowser(deps, live).authority.refuseCredentialChange(at)
}

/** Takes a form of the page. Whatever comes of it, the browser goes on to the page. */
export async function changePasskeys(
  deps: Deps<Pool>,
  form: PasskeyForm,
  cookies: Cookies,
  { origin }: Pick<Actor, 'origin'>,
): Promise<PageAnswer> {
  assertPagesOn(deps)
  const { browser } = cookies
  const sealed = openField(deps, 'account', browser, form.field)
  const now = deps.clock()
  if (browser === undefined || !sealed || now - sealed.sealedAt > requestLifeMs) {
    const place = await findPlaceOfPage(deps, form)
    return { view: startAgainView(textsFor({ accepts: origin.languages, place }), undefined, place) }
  }
  const page = `${path}${form.app === '' ? '' : `?app=${encodeURIComponent(form.app)}`}`
  const live = await findBrowserSession(deps, cookies.session)
  // Somebody else may have signed in meanwhile, in another tab.
  if (!live || live.user_id !== sealed.userId) return { location: page }
  try {
    const refusal = refuseChange(deps, live)
    if (refusal) throw new ApiError(refusal.code)
    await change(deps, { form, live, browser }, { caller: callerOfBrowser(deps, live), origin })
    return { location: page }
  } catch (error) {
    const refusal = refusalOf(error)
    const said = sealField(deps, 'account', browser, { userId: sealed.userId, sealedAt: now, refusal })
    const location = `${page}${page.includes('?') ? '&' : '?'}said=${encodeURIComponent(said)}`
    return { location, errorCode: refusal.code as ErrorCode }
  }
}

async function change(
  deps: Deps<Pool>,
  { form, live, browser }: { form: PasskeyForm; live: LiveBrowserSession; browser: string },
  actor: Actor,
): Promise<void> {
  const { id } = form
  if (form.step === 'add') return add(deps, { form, live, browser }, actor)
  if (!isUuid(id)) throw new ApiError('not_found')
  if (form.step === 'rename') return renamePasskey(deps, live, { id, name: nameIn(form) })
  await removeOwnPasskey(deps, live, id, actor)
}

/** Verifies the new passkey before the transaction, since that takes long the first time. */
async function add(
  deps: Deps<Pool>,
  { form, live, browser }: { form: PasskeyForm; live: LiveBrowserSession; browser: string },
  actor: Actor,
): Promise<void> {
  const name = nameIn(form)
  const party = relyingPartyOf(deps.config.publicUrl)
  const { challenge, userId, userHandle } = await spendChallenge(
    deps,
    openField(deps, 'new_passkey', browser, form.passkey_challenge),
  )
  if (!party || userId !== live.user_id) throw new ApiError('invalid_token')
  const made = await verifyRegistration(party, { sent: form.passkey, challenge }).catch((error: unknown) => {
    throw error instanceof PasskeyError ? invalidPasskey(error.fault) : error
  })
  await addPasskey(deps, live, { made, name, rpId: party.id, userHandle }, actor)
}

function nameIn({ name }: PasskeyForm): string {
  const given = name.trim()
  if (given === '') throw fieldError('name', 'required', 'is required')
  if (given.length > MAX_NAME) throw fieldError('name', 'too_long', `must have at most ${MAX_NAME} characters`)
  return given
}
