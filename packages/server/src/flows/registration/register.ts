import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor, Caller, ClientCaller } from '../../lib/caller.ts'
import {
  email,
  locale,
  MAX_NAME,
  optionalAppCode,
  optionalDeviceToken,
  optionalField,
  optionalTwoFactorCode,
  overrideFields,
  password,
  text,
} from '../../lib/fields.ts'
import { hashLineOf } from '../../lib/hash-line.ts'
import { passwordFault } from '../../lib/password.ts'
import { firstInPools, poolSet } from '../../lib/pool-set.ts'
import {
  appRefRecord,
  type Membership,
  organizationRecord,
  type TokenAnswer,
  tokenMembers,
  type UserRecord,
  userRecord,
} from '../../lib/records.ts'
import type { App } from '../../models/app.ts'
import { checkPolicy, takesSignUps } from '../../resources/apps/app-settings.ts'
import { getActiveApp } from '../../resources/apps/apps.ts'
import { presentAppRef } from '../../resources/apps/present.ts'
import { assertAuthenticated } from '../../resources/client-secrets/client-secrets.ts'
import { findGrantState } from '../../resources/grants/grants.ts'
import { acceptInvitation, getAcceptableInvitation, opensSignUp } from '../../resources/invitations/invitations.ts'
import type { PageOfMail } from '../../resources/mail/mail-tokens.ts'
import { foundOrganization } from '../../resources/organizations/organizations.ts'
import { authenticateCaller } from '../../resources/sessions/authenticate-caller.ts'
import { listUsersOfEmail } from '../../resources/users/find-users.ts'
import { type PooledUser, presentUser } from '../../resources/users/present.ts'
import { accessOf, createAccount, finishSignUp, provisionNewcomer } from '../sign-in/create-account.ts'
import { enterAsNew, orEnrolment } from '../sign-in/enter.ts'
import { findOverridingCaller, logInWith } from '../sign-in/login.ts'

const optionalName = optionalField(z.string().trim().max(MAX_NAME))
const optionalText = optionalField(text)

/** Unknown members are accepted and passed on to the webhooks. */
export const registerBody = z
  .looseObject({
    email,
    password: password.meta({ description: 'At least 8 characters, at most 1,024 bytes' }),
    first_name: optionalName,
    last_name: optionalName,
    locale: optionalField(locale).meta({
      description: 'The language that the user reads: a BCP 47 tag. Default: by `Accept-Language`, if we write mails in it',
    }),
    app_code: optionalAppCode,
    mode: optionalField(z.enum(['register', 'register_or_login', 'register_or_return']))
      .transform((mode) => mode ?? 'register')
      .meta({ description: 'Default: `register`' }),
    invite_code: optionalText,
    invite_token: optionalText,
    organization_name: optionalName,
    two_factor_code: optionalTwoFactorCode.meta({ description: 'Only used if `register_or_login` finds an existing user' }),
    device_token: optionalDeviceToken,
    ...overrideFields,
  })
  .meta({ id: 'Register' })
export type RegisterInput = z.output<typeof registerBody>

/** The answer of a registration. It has tokens only with `access: "granted"`, and never for `register_or_return`. */
export const registrationAnswer = z
  .object({
    created: z.boolean(),
    user: userRecord,
    app: appRefRecord,
    access: z.enum(['granted', 'pending', 'unverified', 'unenrolled']).meta({
      description:
        '`pending` waits for an admin. `unverified` waits for the user to verify the address, and `unenrolled` for the user to set up ' +
        'a second factor, which this app requires',
    }),
    organization: organizationRecord.nullable(),
    enrollment_url: z.string().optional().meta({ description: 'With `unenrolled`: the page where the user does that' }),
    ...z.object(tokenMembers).partial().shape,
  })
  .meta({ id: 'Registration' })
type RegistrationAnswer = z.output<typeof registrationAnswer>

/**
 * Registers a user, step by step (docs/why/flows/registration.md). The route has checked who may use `register_or_return`.
 * `rawBody` is for the webhooks. If several calls register one address in overlapping pool sets at once, even on several servers,
 * only one creates the user. Throws `app_code_required`, `app_not_found`, `app_inactive`, `invalid_client`, the policy's codes,
 * `validation_failed`, `user_exists`, `invalid_invitation`, and for `register_or_login` what a login throws.
 */
export async function register(
  deps: Deps<Pool>,
  input: RegisterInput,
  rawBody: () => Record<string, unknown>,
  actor: Actor,
  { page, client }: OwnPage = {},
): Promise<RegistrationAnswer> {
  // One statement reads the users of the address and tells whether the app in memory is still current.
  const { users, catalogGeneration } = await listUsersOfEmail(deps, input.email)
  const app = await resolveApp(deps, input, catalogGeneration) // step 1
  // No user must be made by somebody who could not sign in with it. A mode without tokens is for backends and for our own pages.
  if (input.mode !== 'register_or_return') assertAuthenticated(app, client)
  const invitation = invitationOf(input)
  const isInvited = invitation !== undefined && (await isInvitedTo(deps, app, invitation, input))
  // If the app does not take this sign-up, this is only a login. Neither its answer nor its timing reveals who is registered.
  if (input.mode === 'register_or_login' && !takesSignUps(app, { isInvited }))
    return logInInstead(deps, input, { app, client }, actor)
  const founds = input.organization_name !== undefined && invitation === undefined
  checkPolicy(app, { email: input.email, method: 'password', isInvited, founds }) // step 2

  // steps 3 and 4, first without the lock: if the user already exists, no hash is needed
  const existing = firstInPools(users, poolSet(app))
  if (existing) return answerCollision(deps, input, { app, client }, existing, actor)

  const fault = passwordFault(input.password, input.email, deps.passwordBlocklist)
  if (fault) throw fieldError('password', fault.code, fault.message)
  const passwordHash = await deps.passwords.hash(input.password, hashLineOf(actor))
  const received = rawBody()

  const outcome = await transaction(deps, async (deps) => {
    // An index on one pool cannot see two apps whose pool sets overlap, so registrations of this address run one at a time.
    await lockUntilCommit(deps.db, 'email', input.email)
    const { users } = await listUsersOfEmail(deps, input.email) // steps 3 and 4 again, under the lock
    const rival = firstInPools(users, poolSet(app))
    if (rival) return { rival }
    return { answer: await createRegistration(deps, { input, app, client, passwordHash, received, page }, actor) } // step 5
  })
  return outcome.rival ? answerCollision(deps, input, { app, client }, outcome.rival, actor) : outcome.answer
}

/** What our own pages add to a registration. */
interface OwnPage {
  /** Set where the page waits for the code of the mail. */
  page?: PageOfMail | undefined
  /** Set where the page gives no tokens away, so that it can stand for the app. */
  client?: ClientCaller | undefined
}

/** If only the invitation allows this sign-up, it must be valid before any user is searched for. Throws `invalid_invitation`. */
async function isInvitedTo(deps: Deps, app: App, token: string, { email }: RegisterInput): Promise<boolean> {
  // An invitation that nothing depends on is read when it is accepted.
  if (app.sign_up !== 'invitation') return true
  return opensSignUp(deps, await getAcceptableInvitation(deps, token, { email }), app)
}

async function resolveApp(deps: Deps, input: RegisterInput, catalogGeneration: string): Promise<App> {
  const code = input.app_code ?? deps.config.defaultAppCode
  if (code === undefined) throw new ApiError('app_code_required', { detail: 'app_code: is required' })
  return getActiveApp(deps, code, catalogGeneration)
}

/**
 * Answers a registration that collides with this user, by its mode. Throws `user_exists` for `register`, and for
 * `register_or_login` what a login throws.
 */
async function answerCollision(
  deps: Deps<Pool>,
  input: RegisterInput,
  { app, client }: ThroughApp,
  user: PooledUser,
  actor: Actor,
): Promise<RegistrationAnswer> {
  switch (input.mode) {
    case 'register':
      throw new ApiError('user_exists')
    case 'register_or_return': {
      const grant = await findGrantState(deps, user.id, app.id)
      const existing = { created: false, user: presentUser(user), app, access: accessOf(app, user, grant) }
      return presentRegistration({ ...existing, organization: null, tokens: undefined })
    }
    case 'register_or_login':
      return logInInstead(deps, input, { app, client }, actor)
  }
}

/** Runs the whole login from its first step, so that this mode cannot bypass a limit, a lock or a second factor. */
async function logInInstead(
  deps: Deps<Pool>,
  input: RegisterInput,
  { app, client }: ThroughApp,
  actor: Actor,
): Promise<RegistrationAnswer> {
  const asLogin = { ...input, organization_id: undefined }
  const { tokens, organization } = await logInWith(deps, asLogin, { app, client, invitation: invitationOf(input) }, actor)
  // Use the user that the login returns: an invitation may have verified the address.
  return presentRegistration({ created: false, user: tokens.user, app, access: 'granted', organization, tokens })
}

interface ThroughApp {
  app: App
  client: ClientCaller | undefined
}

interface NewRegistration extends ThroughApp {
  input: RegisterInput
  passwordHash: string
  /** The parsed body, before validation. */
  received: Record<string, unknown>
  /** Set on our own page, which waits for the code of the mail. */
  page?: PageOfMail | undefined
}

/**
 * Creates the user with everything that belongs to it, in the caller's transaction. The caller holds the lock on the e-mail
 * address and has checked for a collision.
 */
async function createRegistration(
  deps: Deps<Tx>,
  { input, app, client, passwordHash, received, page }: NewRegistration,
  actor: Actor,
): Promise<RegistrationAnswer> {
  const authMethod = 'password'
  const newcomer = {
    email: input.email,
    passwordHash,
    firstName: input.first_name ?? null,
    lastName: input.last_name ?? null,
    locale: input.locale,
    emailVerified: false,
    madeBy: 'self',
    authMethod,
  } as const
  const made = await createAccount(deps, { app, newcomer }, actor)
  // The first match wins: invitation, `organization_name`, the app's default organization, none.
  const invitation = invitationOf(input)
  const accepted = invitation === undefined ? undefined : await acceptInvitation(deps, invitation, made, actor)
  const founded =
    !accepted && input.organization_name
      ? await foundOrganization(deps, { name: input.organization_name, userId: made.id, appId: app.id }, actor)
      : null
  const overrides = { roleCode: input.role_code, linkedAppCodes: input.linked_app_codes }
  const account = await provisionNewcomer(deps, { app, made, overrides, accepted, founded }, actor)
  const { user, organization } = account
  const { access, entry } = await finishSignUp(deps, { app, account, authMethod, received, page }, actor)
  const registered = { created: true, user: presentUser(user), app, organization }
  if (!entry || input.mode === 'register_or_return') return presentRegistration({ ...registered, access, tokens: undefined })
  const entered = await orEnrolment(enterAsNew(deps, { ...entry, client }, actor))
  if ('tokens' in entered) return presentRegistration({ ...registered, access, tokens: entered.tokens })
  return presentRegistration({ ...registered, access: 'unenrolled', tokens: undefined, ...entered.refusal.members })
}

/**
 * `register_or_return` reveals whether a user exists, so only service accounts and system admins may use it: 401 without a
 * bearer, 403 with one that may not, both before any user is searched for. The other modes treat a bearer as a login does.
 */
export async function authorizeMode(
  deps: Deps,
  input: Pick<RegisterInput, 'mode' | 'app_code' | 'role_code' | 'linked_app_codes'>,
  bearer: string | undefined,
): Promise<Caller | undefined> {
  const appCode = input.app_code ?? deps.config.defaultAppCode
  if (input.mode !== 'register_or_return') return findOverridingCaller(deps, { ...input, app_code: appCode }, bearer)
  if (bearer === undefined) throw new ApiError('token_missing')
  const caller = await authenticateCaller(deps, bearer)
  const refusal = caller.authority.refuseRegisterOrReturn(appCode)
  if (refusal) throw new ApiError(refusal.code, refusal)
  return caller
}

/** The invitation of a registration, under either of its names. */
function invitationOf(input: { invite_token?: string | undefined; invite_code?: string | undefined }): string | undefined {
  return input.invite_token ?? input.invite_code
}

/** The answer of a registration, for a new user and an existing one. */
function presentRegistration(input: {
  created: boolean
  user: UserRecord
  app: { id: string; code: string }
  access: RegistrationAnswer['access']
  organization: Membership | null
  tokens: TokenAnswer | undefined
  enrollment_url?: string
}): RegistrationAnswer {
  const { tokens, enrollment_url } = input
  return {
    created: input.created,
    user: input.user,
    app: presentAppRef(input.app),
    access: input.access,
    organization: input.organization,
    ...(enrollment_url !== undefined && { enrollment_url }),
    ...(tokens && {
      token_type: tokens.token_type,
      access_token: tokens.access_token,
      expires_in: tokens.expires_in,
      refresh_token: tokens.refresh_token,
      refresh_expires_in: tokens.refresh_expires_in,
      device_token: tokens.device_token,
    }),
  }
}
