// Builds what tests need through the routes that admins use.

import { markVerified } from './rows.ts'
import { buildApp, buildUser, type Json, type TestService, unique } from './service.ts'

/** Sends a request as a system_admin and returns the body of the answer. Throws if it is refused. */
async function ask(service: TestService, method: string, path: string, body?: Json): Promise<Json> {
  const reply = await service.admin(method, `/admin${path}`, { body })
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(reply.body)}`)
  return reply.body
}

export interface Organization {
  id: string
  slug: string
  name: string
}

export async function buildOrganization(service: TestService, code = unique('org')): Promise<Organization> {
  const { id, slug, name } = await ask(service, 'POST', '/organizations', { slug: code, name: code })
  return { id, slug, name }
}

export function addMember(
  service: TestService,
  organizationId: string,
  userId: string,
  role_codes: readonly string[],
): Promise<Json> {
  return ask(service, 'PUT', `/organizations/${organizationId}/members/${userId}`, { role_codes })
}

/** Creates a role with these permissions and returns its code. */
export async function buildRole(
  service: TestService,
  scope: 'global' | 'org',
  permissions: readonly string[] = [],
  code = unique('role'),
): Promise<string> {
  await ask(service, 'POST', '/roles', { code, name: code, scope })
  if (permissions.length > 0) await ask(service, 'PUT', `/roles/${code}/permissions`, { permissions })
  return code
}

/** Assigns a global role. Platform roles require a proven account, so the user's address is verified first for those. */
export async function assignRole(service: TestService, userId: string, role_code: string): Promise<void> {
  if (['system_admin', 'super_admin', 'auditor', 'help_desk'].includes(role_code)) await markVerified(service, userId)
  await ask(service, 'POST', `/users/${userId}/roles`, { role_code })
}

/** Permissions as a body lists them; a name may follow the code. */
export function declared(...codes: (string | [code: string, name: string])[]): Json[] {
  return codes.map((each) => {
    const [code, name] = typeof each === 'string' ? [each, `May ${each}`] : each
    const [resource, action] = code.split(':')
    return { code, name, resource, action }
  })
}

/** Registers all permissions of a service. */
export async function registerPermissions(service: TestService, name: string, codes: readonly string[]): Promise<void> {
  await ask(service, 'POST', '/permissions/register', { service: name, permissions: declared(...codes) })
}

interface InvitationSettings {
  organizationId: string
  roles?: readonly string[]
  email?: string
  /** The app that the invitation names. It is granted if the invitation is by a system_admin. */
  appCode?: string
  expiresInSeconds?: number
  /** An org_admin is created with a verified address. */
  by?: 'system_admin' | 'org_admin'
}

/** Creates an invitation and returns its token. */
export async function buildInvitation(
  service: TestService,
  { organizationId, roles = ['org_member'], email, appCode, expiresInSeconds, by = 'system_admin' }: InvitationSettings,
): Promise<string> {
  const body = { role_codes: roles, email, app_code: appCode, expires_in_seconds: expiresInSeconds }
  if (by === 'system_admin') return (await ask(service, 'POST', `/organizations/${organizationId}/invitations`, body)).token
  const { user, access_token: token } = await buildUser(service, await buildApp(service, { auto_grant_on_signup: true }))
  await addMember(service, organizationId, user.id, ['org_admin'])
  await markVerified(service, user.id)
  return (await service.call('POST', `/organizations/${organizationId}/invitations`, { token, body })).body.token
}

/** Suspends or deletes a user. */
export async function closeAccount(service: TestService, userId: string, status: 'suspended' | 'deleted'): Promise<void> {
  if (status === 'deleted') await ask(service, 'DELETE', `/users/${userId}`)
  else await ask(service, 'PATCH', `/users/${userId}`, { status })
}
