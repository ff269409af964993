// State that no route can make yet, written as rows; and questions to the tables that no route answers.

import { randomBytes } from 'node:crypto'
import { transaction } from '../../packages/server/src/db/transaction.ts'
import type { Deps } from '../../packages/server/src/deps.ts'
import { hashOpaqueToken } from '../../packages/server/src/lib/opaque-token.ts'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { renewCatalog } from '../../packages/server/src/resources/catalog/renew-catalog.ts'
import { unique } from './client.ts'
import type { Json, TestService } from './service.ts'

/** Writes to apps, permissions or what roles hold, so that the service does not go on with what it remembers. */
export async function changeCatalog(service: TestService, write: (db: Deps['db']) => PromiseLike<unknown>): Promise<void> {
  await transaction(service.deps, async (deps) => {
    await renewCatalog(deps)
    await write(deps.db)
  })
}

/** An organization, and when a user is given, that user's membership with these roles. */
export async function insertOrganization(
  service: TestService,
  slug = unique('org'),
): Promise<{ id: string; slug: string; name: string }> {
  const now = service.deps.clock()
  const organization = { id: newId(now), slug, name: `Organization ${slug}` }
  await service.deps.db('organizations').insert({ ...organization, created_at: now, updated_at: now })
  return organization
}

export async function insertMembership(
  service: TestService,
  organizationId: string,
  userId: string,
  roles: readonly string[],
): Promise<void> {
  const now = service.deps.clock()
  const id = newId(now)
  await service.deps
    .db('organization_memberships')
    .insert({ id, organization_id: organizationId, user_id: userId, created_at: now })
  if (roles.length > 0)
    await service.deps.db('membership_roles').insert(roles.map((role_code) => ({ membership_id: id, role_code })))
}

/** A role that holds these permissions; its code. */
export async function insertRole(
  service: TestService,
  scope: 'global' | 'org',
  permissions: readonly string[] = [],
): Promise<string> {
  const { db, clock } = service.deps
  const code = unique('role')
  const now = clock()
  await db('roles').insert({ code, name: code, scope, built_in: 0, created_at: now, updated_at: now })
  if (permissions.length === 0) return code
  const ids: string[] = await db('permissions').whereIn('code', permissions).whereNull('pruned_at').pluck('id')
  const held = ids.map((permission_id) => ({ role_code: code, permission_id, created_at: now }))
  await changeCatalog(service, (db) => db('role_permissions').insert(held))
  return code
}

export async function assignRole(service: TestService, userId: string, role: string): Promise<void> {
  await service.deps.db('user_roles').insert({ user_id: userId, role_code: role, created_at: service.deps.clock() })
}

/** Permissions as a service would have registered them. */
export async function insertPermissions(service: TestService, name: string, codes: readonly string[]): Promise<void> {
  const { db, clock } = service.deps
  const now = clock()
  await db('permission_services').insert({ service: name, registered_at: now }).onConflict('service').ignore()
  const rows = codes.map((code) => {
    const [resource, action] = code.split(':')
    return { id: newId(now), service: name, code, name: code, resource, action, created_at: now, updated_at: now }
  })
  await changeCatalog(service, (db) => db('permissions').insert(rows))
}

/** Verifies the address of a user, as the link of a mail does. */
export async function markVerified(service: TestService, id: string): Promise<void> {
  const now = service.deps.clock()
  await service.deps.db('users').where({ id }).update({ email_verified_at: now, first_verified_at: now })
}

export interface InvitationRow {
  organizationId: string
  roles?: readonly string[]
  email?: string
  appId?: string
  grantsApp?: boolean
  /** Seconds from now. */
  expiresIn?: number
}

/** An invitation; its token. */
export async function insertInvitation(service: TestService, invitation: InvitationRow): Promise<string> {
  const now = service.deps.clock()
  const token = randomBytes(32).toString('base64url')
  await service.deps.db('invitations').insert({
    id: newId(now),
    organization_id: invitation.organizationId,
    token_hash: hashOpaqueToken(token),
    email: invitation.email ?? null,
    role_codes: JSON.stringify(invitation.roles ?? ['org_member']),
    app_id: invitation.appId ?? null,
    grants_app: invitation.grantsApp ? 1 : 0,
    created_at: now,
    expires_at: now + (invitation.expiresIn ?? 3_600) * 1000,
  })
  return token
}

export async function isInvitationSpent(service: TestService, token: string): Promise<boolean> {
  const row = await service.deps
    .db('invitations')
    .where({ token_hash: hashOpaqueToken(token) })
    .first('accepted_at')
  return row.accepted_at !== null
}

/** Suspends or deletes a user as the admin routes will: the status, the floor above every token, the end of every session. */
export async function closeAccount(service: TestService, userId: string, status: 'suspended' | 'deleted'): Promise<void> {
  const { db, clock } = service.deps
  const raised = { token_version: db.raw('token_version + 1'), min_token_version: db.raw('token_version + 1') }
  await db('users')
    .where({ id: userId })
    .update({ status, ...raised })
  await db('sessions').where({ user_id: userId }).update({ ended_at: clock(), ended_reason: status })
}

export async function countRows(service: TestService, table: string, where: Record<string, unknown> = {}): Promise<number> {
  const [row] = await service.deps.db(table).where(where).count({ n: '*' })
  return Number(row!.n)
}

const writtenByRegistration = [
  'users',
  'user_namespaces',
  'user_roles',
  'user_apps',
  'organizations',
  'organization_memberships',
  'membership_roles',
  'sessions',
  'refresh_tokens',
]

/** How many rows there are of all that a registration or a login can write, audit events aside. */
export async function countWrites(service: TestService): Promise<Record<string, number>> {
  const counts = await Promise.all(writtenByRegistration.map(async (table) => [table, await countRows(service, table)] as const))
  const [spent] = await service.deps.db('invitations').whereNotNull('accepted_at').count({ n: '*' })
  return { ...Object.fromEntries(counts), 'spent invitations': Number(spent!.n) }
}

/** The audit events of a kind, oldest first, with their details as objects. */
export async function auditEvents(service: TestService, where: Record<string, unknown>): Promise<Json[]> {
  const rows = await service.deps.db('audit_events').where(where).orderBy('id')
  return rows.map((row: Json) => ({ ...row, details: row.details === null ? null : JSON.parse(row.details) }))
}
