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
      return `Too many failed logins with this address. It is free again in ${seconds} seconds; no command shortens that`
    case 'app_code_required':
      return 'The login names no app. It must send app_code; only AUTH_REQUIRE_APP_CODE=false lets it go without'
    case 'app_not_found':
      return newAppCode.safeParse(appCode).success
        ? `No app has this code. Create it: ${command('app create', appCode, '--name', appCode)}`
        : `No app is named so, and none could be. See which there are: ${command('app list')}`
    case 'app_inactive':
      return `The app is inactive. Activate it: ${command('app activate', app?.code ?? appCode)}`
    case 'invalid_credentials':
      return loginCase.found && loginCase.found.id === user?.id
        ? 'The user has no password yet. It is set by the link of a "forgot password" mail; no command sets it'
        : describeUnfound(loginCase)
    case 'account_locked':
      return user
        ? `Locked after failed logins, for ${seconds} seconds yet. Unlock it: ${command('user unlock', ref)}`
        : `Nobody has this address, yet it was tried too often. It is answered so for ${seconds} seconds`
    case 'account_suspended':
      return `The account is suspended. Activate it: ${command('user activate', ref)}`
    case 'email_unverified':
      return describeUnverified(user, app?.code ?? appCode)
    case 'organization_membership_required':
      return organization
        ? `The user is no member of ${organization.slug}. Make one: ${command('org member', '--org', organization.id, '--user', ref, '--role', 'org_member')}`
        : `No organization has the id ${organizationId}. See which there are: ${command('org list')}`
    default:
      return describeNoGrant(app?.code ?? appCode, ref, entitlements, now)
  }
}

/** No command can verify an address. Only mail to its mailbox can. */
function describeUnverified(user: LoginCase['user'], appCode: string): string {
  const found = user?.email_verified_at
    ? 'The address was verified by the link of a mail alone, which does not show whose the account is'
    : 'Nobody has verified the address'
  const remedies =
    'The user opens the link of another mail and gives the password with it, takes a magic link, or resets the password'
  return `${found}, and the app asks for that. ${remedies}. To let everybody in: ${command('app update', appCode, '--no-require-verified-email')}`
}

/** Tells why a login finds no user in the app's pools. */
function describeUnfound({ user, found, namesakes, pools, email }: LoginCase): string {
  if (user?.status === 'deleted') return 'The user was deleted. A deleted user does not come back; no command mends that'
  if (user && found)
    return `A login with this address finds ${userRefOf(found)} first. See who meet: ${command('pool collisions', found.namespace, user.namespace)}`
  const [home] = pools
  if (namesakes.length === 0)
    return `No user has this address. Create one: ${command('user create', '--email', email, '--pool', home)}`
  const outside = user ? [user] : namesakes
  const remedies = outside.map((user) => command('pool tag', '--user', userRefOf(user), '--pool', home))
  return `Outside the pools of the app (${pools.join(', ')}). Let the user in by a tag: ${remedies.join(' or ')}`
}

function describeNoGrant(appCode: string, ref: string, { grants }: Entitlements, now: number): string {
  const grant = grants.find(({ app_code }) => app_code === appCode)
  const remedy = command('grant add', '--app', appCode, '--user', ref)
  if (!grant) return `The user has no grant, and the app does not grant by itself. Grant it: ${remedy}`
  if (grant.status === 'revoked') {
    const when = grant.revoked_at === null ? '' : ` at ${iso(grant.revoked_at)}`
    return `The grant was revoked${when}, and auto-grant brings none back. Grant it again: ${remedy}`
  }
  const when = grant.expires_at === null || grant.expires_at > now ? '' : ` at ${iso(grant.expires_at)}`
  return `The grant expired${when}. Grant it again: ${remedy}`
}
