import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { html, type PagePlace, type PageView } from '../../lib/html.ts'
import { MIN_PASSWORD_CHARACTERS } from '../../lib/password.ts'
import { App } from '../../models/app.ts'
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
import { placeOf } from '../../pages/place.ts'
import type { PageTexts } from '../../pages/texts/page-texts.ts'
import { type Reader, textsFor } from '../../pages/texts/texts-for.ts'
import { getOpenInvitation, opensSignUp } from '../../resources/invitations/invitations.ts'
import { logout } from '../refresh/refresh.ts'
import { register } from '../registration/register.ts'
import type { InvitationAnswers, InvitationForm } from './schema.ts'

/** What a page shows to the holder of an invitation link. */
interface InvitationOffer {
  texts: PageTexts
  organization: { name: string; code: string }
  /** The only address that may accept it. Null if anybody may. */
  email: string | null
  /** The app through which the reader can register with a password. Null if no app allows that. */
  app: PagePlace | null
}

/** Reads an invitation without accepting it. Throws `invalid_invitation`. */
export async function describeInvitation(deps: Deps, token: string, reader: Reader): Promise<InvitationOffer> {
  const invitation = await getOpenInvitation(deps, token)
  const { organization, app, email } = invitation
  const through = app ?? (await findDefaultApp(deps))
  const opens = through && takesPasswords(through) && (await opensSignUp(deps, invitation, through))
  const place = opens ? placeOf(deps.config, through) : null
  const texts = textsFor({ ...reader, ...(place && { place }) })
  return { texts, organization: { name: organization.name, code: organization.slug }, email, app: place }
}

async function findDefaultApp(deps: Deps): Promise<App | undefined> {
  const { defaultAppCode: code } = deps.config
  return code === undefined ? undefined : App.find(deps.db, { code })
}

function takesPasswords({ status, sign_up: signUp, allowed_auth_methods: methods }: App): boolean {
  return status === 'active' && signUp !== 'closed' && (methods.length === 0 || methods.includes('password'))
}

interface InvitationOutcome {
  created: boolean
  /** Whether the user may enter the app. A new account may have to wait. */
  access: 'granted' | 'pending' | 'unverified' | 'unenrolled'
}

/**
 * Accepts an invitation with an existing or a new account. This is `register_or_login` with the invitation, with all its limits.
 * The page cannot keep tokens, so the session is ended at once. Throws what such a registration throws.
 */
export async function enterByInvitation(
  deps: Deps<Pool>,
  { token, app, answers }: { token: string; app: NonNullable<InvitationOffer['app']>; answers: InvitationAnswers },
  actor: Actor,
): Promise<InvitationOutcome> {
  const { email, password, first_name, last_name, two_factor_code } = answers
  const named = {
    email,
    password,
    first_name,
    last_name,
    app_code: app.code,
    mode: 'register_or_login',
    invite_token: token,
  } as const
  const unused = {
    device_token: undefined,
    invite_code: undefined,
    organization_name: undefined,
    role_code: undefined,
    linked_app_codes: undefined,
  }
  // Webhooks receive only the fields that the form asked for.
  const client = { code: app.code, hasShownSecret: true }
  const answer = await register(deps, { ...named, ...unused, two_factor_code }, () => named, actor, { client })
  if (answer.refresh_token !== undefined) await logout(deps, answer.refresh_token, actor)
  return { created: answer.created, access: answer.access }
}

/**
 * The form for an existing or a new account, with what was sent if it is shown again. Passwords and codes are not shown. If no app
 * can take the reader that way, shows a code to enter elsewhere.
 */
export function invitationView(place: PageToken, offer: InvitationOffer, refusal?: FormRefusal, sent?: InvitationForm): PageView {
  const { texts, organization, app, email: fixed } = offer
  const { invitation, fields, hints } = texts
  if (app === null) return invitationCodeView(place.token, offer)
  const through = nameOf(app)
  const email = { name: 'email', label: fields.email, type: 'email', autocomplete: 'username' } as const
  const password = { name: 'password', label: fields.password, type: 'password', autocomplete: 'current-password' } as const
  const hint = hints.passwordOrNew(through, MIN_PASSWORD_CHARACTERS)
  const name = { type: 'text', isOptional: true } as const
  const firstName = { name: 'first_name', label: fields.firstName, autocomplete: 'given-name', value: sent?.first_name ?? '' }
  const lastName = { name: 'last_name', label: fields.lastName, autocomplete: 'family-name', value: sent?.last_name ?? '' }
  return {
    ...headOf(texts, refusal, invitation.title(nameOf(organization))),
    place: app,
    body: html`<p>${invitation.text(shown(through))}</p>
${form(
  place,
  invitation.button,
  alert(generalFault(texts, refusal, through)),
  field(texts, { ...email, value: fixed ?? sent?.email ?? '', isFixed: fixed !== null }, refusal),
  field(texts, { ...password, hint }, refusal && withFaultOfCode(refusal)),
  secondFactorField(texts, refusal),
  field(texts, { ...name, ...firstName }, refusal),
  field(texts, { ...name, ...lastName }, refusal),
)}`,
  }
}

export function enteredView({ texts, organization, app }: InvitationOffer, { created, access }: InvitationOutcome): PageView {
  const { invitation, language } = texts
  const place = app ?? organization
  const account = created && html`${invitation.accountReady} `
  const next = invitation.access[access](shown(nameOf(place)))
  const title = invitation.accepted(nameOf(organization))
  return { status: 200, language, title, place, body: html`<p>${account}${next}</p>\n${wayOn(texts, app ?? undefined)}` }
}

function invitationCodeView(token: string, { texts, organization: place }: InvitationOffer): PageView {
  const { title, code } = texts.invitation
  return {
    status: 200,
    language: texts.language,
    title: title(nameOf(place)),
    place,
    body: html`<p>${code.text(shown(nameOf(place)))}</p>
${codeField(code.label, token)}<p>${code.after}</p>`,
  }
}
