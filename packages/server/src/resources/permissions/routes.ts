import { ok, okPage, route, section } from '../../http/route.ts'
import {
  assertMayRegister,
  listPermissions,
  listPermissionsQuery,
  permissionPage,
  presentPermission,
  registerPermissions,
  registerPermissionsBody,
  registerPermissionsQuery,
  registrationRecord,
} from './permissions.ts'

export const permissionRoutes = section('Permissions', [
  route({
    method: 'GET',
    path: '/admin/permissions',
    summary: 'List permissions, newest first',
    description: 'Does not include pruned permissions.',
    auth: 'admin_reader',
    query: listPermissionsQuery,
    responses: { 200: permissionPage },
    handle: async (deps, { query }) => okPage(await listPermissions(deps, query), presentPermission),
  }),
  route({
    method: 'POST',
    path: '/admin/permissions/register',
    summary: 'Declare all permissions of a service',
    description:
      'For a service account of that service with the scope `permissions:register`, or a system_admin. Meant for every boot. ' +
      'Permissions that the service declared before but not now are pruned: they leave tokens and lists at once. If the same ' +
      'service declares one again, the roles that held it hold it again. Registrations for the same service run one at a time.',
    auth: 'service',
    scope: 'permissions:register',
    // Enough for 5,000 permissions of any length and escaping.
    bodyLimitBytes: 10 * 1024 * 1024,
    query: registerPermissionsQuery,
    body: registerPermissionsBody,
    responses: { 200: registrationRecord },
    errors: ['service_reserved', 'service_mismatch', 'prune_limit', 'permission_owned_by_other_service'],
    assertMaySend(caller, { service }) {
      if (typeof service === 'string') assertMayRegister(caller, service)
    },
    handle: async (deps, { query, body, ...actor }) =>
      ok(await registerPermissions(deps, { ...body, dryRun: query.dry_run === 'true' }, actor)),
  }),
])
