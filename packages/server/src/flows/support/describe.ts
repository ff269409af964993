import type { ApiError } from '../../errors.ts'
import { type AccessTokenClaims, MAX_TOKEN_BYTES } from '../../lib/access-token.ts'
import { entersWithoutGrant } from '../../lib/authority.ts'
import { newAppCode } from '../../lib/fields.ts'
import { iso } from '../../lib/timestamps.ts'
import type { Entitlements, LoginCase } from './login-case.ts'
import type { Step } from './schema.ts'

const plain = /^[A-Za-z0-9@%+=:,./_-]+$/

/**
 * An authctl command line to copy. Words that a shell would interpret are quoted, because users choose some of them, such as an
 * e-mail address.
 */
export function command(verb: string, ...words: string[]): string {
  return ['authctl', verb, ...words.map((word) => (plain.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))].join(' ')
}

/** A user in the form that authctl accepts. */
export function userRefOf(user: { email: string; namespace: string }): string {
  return `${user.email}@@${user.namespace}`
}

/** The claims and the length of the access token that a login gave. The token itself is not kept. */
export interface GivenToken {
  claims: AccessTokenClaims
  bytes: number
}

interface Findings {
  before: Entitlements
  after: Entitlements
  token: GivenToken | undefined
}

/** Describes what was found at a step that the login passes. */
export function describePassed(name: Step['name'], loginCase: LoginCase, findings: Findings): { detail?: string } {
  const { app, user, pools } = loginCase
  switch (name) {
    case 'account_limit':
      return {}
    case 'app':
      return { detail: app ? `${app.code} is active and reads ${quantity(pools, 'pool')}` : 'No app; pool default' }
    case 'user':
      return user ? { detail: `${userRefOf(user)}, ${quantity([user.namespace, ...user.tags], 'pool')}` } : {}
    case 'account':
      // A login refuses a suspended user after the second factor, which refuses this one.
      if (user?.status === 'suspended') return { detail: 'Not locked. Suspended, which the login does not say yet' }
      return {
        detail: `Neither locked nor suspended${app?.require_verified_email ? ', and the address is verified' : ''}${describeMailCodes(loginCase)}`,
      }
    case 'password':
      return {
        detail: `Assumed to be right${loginCase.passkeys > 0 ? '. On the sign-in page, a passkey of the user stands in for it and for the code' : ''}`,
      }
    case 'two_factor':
      return { detail: loginCase.hasTwoFactor ? 'On: a login must also send two_factor_code' : `Off${describeDemand(loginCase)}` }
    case 'roles':
      return { detail: describeRoles(loginCase, findings) }
    case 'access':
      return { detail: describeGrant(loginCase, findings) }
    case 'tokens':
      return findings.token ? { detail: describeToken(loginCase, findings.token) } : {}
  }
}

/** A demand that has been announced, or is not about this user. */
function describeDemand({ app }: LoginCase): string {
  if (!app || app.require_two_factor === 'off') return ''
  const from = app.require_two_factor_from === null ? '' : ` from ${iso(app.require_two_factor_from)} on`
  return `. ${app.code} demands a second factor of ${app.require_two_factor}${from}`
}

function describeMailCodes({ user, mailCodesLockedSeconds }: LoginCase): string {
  if (mailCodesLockedSeconds === 0 || !user) return ''
  const remedy = command('user unlock', userRefOf(user))
  return `. Codes by e-mail are locked for ${Math.ceil(mailCodesLockedSeconds)} more seconds, the link in the mail is not: ${remedy}`
}

function describeRoles({ organization }: LoginCase, { after, token }: Findings): string {
  const membership = after.memberships.find(({ id }) => id === organization?.id)
  const roles = token?.claims.roles ?? membership?.role_codes ?? after.globalRoles
  return membership ? `In ${membership.slug}: ${quantity(roles, 'role')}` : `Global: ${quantity(roles, 'role')}`
}

function describeGrant(loginCase: LoginCase, findings: Findings): string {
  const { app } = loginCase
  if (!app) return 'No app, so no grant is needed'
  if (entersWithoutGrant(findings.before.globalRoles, app)) return `Holders of system_admin enter ${app.code} without a grant`
  const grant = findings.before.grants.find(({ app_code }) => app_code === app.code)
  if (!grant) return describeProvisioning(app, findings)
  const until = grant.expires_at === null ? '' : `, until ${iso(grant.expires_at)}`
  return `Active grant (${grant.granted_via}) since ${iso(grant.granted_at)}${until}`
}

/** What a first login at an auto-granting app would give. */
function describeProvisioning(app: NonNullable<LoginCase['app']>, { before, after }: Findings): string {
  const held = new Set(before.grants.map(({ app_code }) => app_code))
  const given = after.grants.map(({ app_code }) => app_code).filter((code) => !held.has(code) && code !== app.code)
  const joined = after.memberships.find(({ id }) => !before.memberships.some((membership) => membership.id === id))
  const skipped = app.linked_app_codes.filter((code) => !after.grants.some(({ app_code }) => app_code === code))
  return [
    `No grant yet, but ${app.code} grants automatically: a login now would give access to it`,
    ...(given.length > 0 ? [`access to the linked ${given.join(', ')}`] : []),
    ...(joined ? [`membership of ${joined.slug} as ${joined.role_codes.join(', ')}`] : []),
    ...(skipped.length > 0 ? [`it would skip the linked ${skipped.join(', ')}: unknown, or not allowed to be linked`] : []),
  ].join('; ')
}

function describeToken({ app }: LoginCase, { claims, bytes }: GivenToken): string {
  const { permissions, exp, iat } = claims
  const size = `${bytes} bytes with ${permissions.length} permissions, for ${exp - iat} seconds`
  if (bytes <= MAX_TOKEN_BYTES || !app) return size
  return `${size}. Consumers refuse more than ${MAX_TOKEN_BYTES} bytes: ${command('app update', app.code, '--permission-scope', 'roles')}`
}

function quantity(names: readonly string[], noun: string): string {
  return names.length === 0 ? `no ${noun}` : `${noun}${names.length === 1 ? '' : 's'} ${names.join(', ')}`
}

/** Tells an admin why a step refuses, and the command that fixes it, if there is one. */
export function describeRefusal(loginCase: LoginCase, error: ApiError, entitlements: Entitlements, now: number): string {
  const { app, appCode = '', organization, organizationId = '', user } = loginCase
  const seconds = Math.ceil(error.retryAfter ?? 0)
  const ref = user ? userRefOf(user) : ''
  switch (error.code) {
    case 'rate_limited':
      return `Too many failed logins with this address. The limit ends in ${seconds} seconds; no command shortens that`
    case 'app_code_required':
      return 'The login names no app. It must send app_code, unless AUTH_REQUIRE_APP_CODE=false'
    case 'app_not_found':
      return newAppCode.safeParse(appCode).success
        ? `No app has this code. Create it: ${command('app create', appCode, '--name', appCode)}`
        : `No app has this code, and the code is not valid. List the apps: ${command('app list')}`
    case 'app_inactive':
      return `The app is inactive. Activate it: ${command('app activate', app?.code ?? appCode)}`
    case 'invalid_credentials':
      return loginCase.found && loginCase.found.id === user?.id
        ? 'The user has no password yet. Only the link in a "forgot password" mail sets one; no command does. A code or a link by e-mail ' +
            'signs the user in without one'
        : describeUnfound(loginCase)
    case 'account_locked':
      return user
        ? `Locked after failed logins, for ${seconds} more seconds. Unlock it: ${command('user unlock', ref)}`
        : `No user has this address, but it was tried too often. Logins get this answer for ${seconds} more seconds`
    case 'account_suspended':
      return `The account is suspended. Activate it: ${command('user activate', ref)}`
    case 'email_unverified':
      return describeUnverified(user, app?.code ?? appCode)
    case 'second_factor_not_shown':
      return `${app?.code ?? appCode} demands a second factor. The user has a passkey, which only the sign-in page can ask for`
    case 'two_factor_enrollment_required':
      return `${app?.code ?? appCode} demands a second factor, and the user has none. The user sets one up at ${error.members.enrollment_url ?? 'the sign-in page'}. To demand none: ${command('app update', app?.code ?? appCode, '--require-two-factor', 'off')}`
    case 'organization_membership_required':
      return organization
        ? `The user is not a member of ${organization.slug}. Add the user: ${command('org member', '--org', organization.id, '--user', ref, '--role', 'org_member')}`
        : `No organization has the id ${organizationId}. List the organizations: ${command('org list')}`
    default:
      return describeNoGrant({ code: app?.code ?? appCode, isAuto: app?.auto_grant_on_signup }, ref, entitlements, now)
  }
}

/** No command can verify an address. Only mail to its mailbox can. */
function describeUnverified(user: LoginCase['user'], appCode: string): string {
  const found = user?.email_verified_at
    ? 'The address was only verified by the link in a mail, which does not prove who owns the account'
    : 'The address is not verified'
  const remedies =
    'The user must open the link of another mail and give the password with it, use a magic link, or reset the password'
  return `${found}, but the app requires that. ${remedies}. To let everyone in: ${command('app update', appCode, '--no-require-verified-email')}`
}

/** Tells why a login finds no user in the app's pools. */
function describeUnfound({ user, found, namesakes, pools, email }: LoginCase): string {
  if (user?.status === 'deleted') return 'The user was deleted. Deleting a user is final; no command undoes it'
  if (user && found)
    return `A login with this address finds ${userRefOf(found)} first. List the collisions: ${command('pool collisions', found.namespace, user.namespace)}`
  const [home] = pools
  if (namesakes.length === 0)
    return `No user has this address. Create one: ${command('user create', '--email', email, '--pool', home)}`
  const outside = user ? [user] : namesakes
  const remedies = outside.map((user) => command('pool tag', '--user', userRefOf(user), '--pool', home))
  return `Outside the pools of the app (${pools.join(', ')}). Let the user in with a pool tag: ${remedies.join(' or ')}`
}

function describeNoGrant(
  { code, isAuto }: { code: string; isAuto: boolean | undefined },
  ref: string,
  { grants }: Entitlements,
  now: number,
): string {
  const grant = grants.find(({ app_code }) => app_code === code)
  // A revoked grant that was to end is given back with its end.
  const end = grant?.status === 'revoked' ? grant.expires_at : null
  const until = end !== null && end > now ? ['--expires', iso(end)] : []
  const remedy = command('grant add', '--app', code, '--user', ref, ...until)
  if (!grant) {
    const why = isAuto
      ? 'the app does not grant automatically to users whom its sign_up or allowed_email_domains would refuse'
      : 'the app does not grant automatically'
    return `The user has no grant, and ${why}. Grant it: ${remedy}`
  }
  if (grant.status === 'revoked') {
    const when = grant.revoked_at === null ? '' : ` at ${iso(grant.revoked_at)}`
    return `The grant was revoked${when}, and auto-grant does not restore it. Grant it again: ${remedy}`
  }
  const when = grant.expires_at === null || grant.expires_at > now ? '' : ` at ${iso(grant.expires_at)}`
  return `The grant expired${when}. Grant it again: ${remedy}`
}
