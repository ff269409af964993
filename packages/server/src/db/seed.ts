import { newId } from '../lib/uuid.ts'
import type { Tx } from './handle.ts'

const roles = [
  { code: 'base_user', name: 'Base user', scope: 'global', description: 'Every registered user' },
  {
    code: 'super_admin',
    name: 'Super admin',
    scope: 'global',
    description: 'Holds every permission, without being a system admin',
  },
  { code: 'system_admin', name: 'System admin', scope: 'global', description: 'Administers this service' },
  { code: 'auditor', name: 'Auditor', scope: 'global', description: 'Reads what system admins read, except pools' },
  {
    code: 'help_desk',
    name: 'Help desk',
    scope: 'global',
    description: 'Reads users and the audit, unlocks users, ends sessions and resets second factors',
  },
  { code: 'org_member', name: 'Organization member', scope: 'org', description: 'Member of an organization' },
  { code: 'org_admin', name: 'Organization admin', scope: 'org', description: 'Administers the members of an organization' },
]

/** The permissions of `core`, which are in every access token. */
const corePermissions = [
  { resource: 'users', action: 'read_self', name: 'Read the own profile' },
  { resource: 'users', action: 'update_self', name: 'Change the own profile' },
]

/**
 * Inserts the rows that exist from the start: built-in roles, core permissions, the service's id, the app `authctl`. Repeatable.
 * `ofAuthctl` are settings with which that app begins in a new database.
 */
export async function seed(db: Tx, now: number, ofAuthctl: object = {}): Promise<void> {
  const stamps = { created_at: now, updated_at: now }
  await db('roles')
    .insert(
      roles.map((role) => {
        const assignable_by = role.scope === 'org' ? 'org_admin' : 'system_admin'
        return { ...role, assignable_by, built_in: 1, ...stamps }
      }),
    )
    .onConflict('code')
    .ignore()
  await db('generations')
    .insert({ name: 'catalog', generation: newId(now) })
    .onConflict('name')
    .merge()
  await db.raw('insert into service (id) select ? where not exists (select 1 from service)', [newId(now)])
  await db('permission_services').insert({ service: 'core', registered_at: now }).onConflict('service').ignore()
  await db('permissions')
    .insert(
      corePermissions.map((core) => ({
        id: newId(now),
        service: 'core',
        code: `${core.resource}:${core.action}`,
        ...core,
        ...stamps,
      })),
    )
    .onConflict(['service', 'code'])
    .ignore()
  await db('apps')
    .insert({
      id: newId(now),
      code: 'authctl',
      name: 'authctl',
      description: 'The command line for admins',
      status: 'active',
      built_in: 1,
      service_codes: '[]',
      // `authctl login` receives its code on a loopback address.
      allowed_redirect_urls: '["http://127.0.0.1/callback"]',
      registration_namespace: 'default',
      sign_up: 'closed',
      ...ofAuthctl,
      device_grant: 1,
      ...stamps,
    })
    .onConflict('code')
    .ignore()
}
