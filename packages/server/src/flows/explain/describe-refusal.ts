import type { ApiError } from '../../errors.ts'
import { newAppCode } from '../../lib/fields.ts'
import { iso } from '../../lib/timestamps.ts'
import { command, userRefOf } from './command.ts'
import type { Entitlements, LoginCase } from './get-login-case.ts'

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
