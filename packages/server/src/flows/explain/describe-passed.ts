import { type AccessTokenClaims, MAX_TOKEN_BYTES } from '../../lib/access-token.ts'
import { entersWithoutGrant } from '../../lib/authority.ts'
import { iso } from '../../lib/timestamps.ts'
import { command, userRefOf } from './command.ts'
import type { Entitlements, LoginCase } from './get-login-case.ts'
import type { Step } from './schema.ts'

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
