import { created, ok, okPage, type Route, route, section } from '../../http/route.ts'
import { pageByNameRequest } from '../../lib/fields.ts'
import { permissionCodesBody } from '../../lib/records.ts'
import {
  addRolePermissions,
  assignRole,
  assignRoleBody,
  changedRolePermissions,
  createRole,
  createRoleBody,
  deleteRole,
  getRole,
  givenUserRole,
  listRolePermissions,
  listRoles,
  listUserRoles,
  presentGivenRole,
  presentRole,
  presentUserRole,
  removeRolePermission,
  replaceRolePermissions,
  rolePage,
  rolePermissionList,
  roleRecord,
  unassignRole,
  updateRole,
  updateRoleBody,
  userRoleList,
} from './roles.ts'

/** Enough for 5,000 codes of any length. */
const bodyLimitBytes = 2 * 1024 * 1024

export const roleRoutes = section('Roles', [
  route({
    method: 'POST',
    path: '/admin/roles',
    summary: 'Create a role',
    auth: 'configurer',
    body: createRoleBody,
    responses: { 201: roleRecord },
    errors: ['role_code_taken'],
    handle: async (deps, { body, ...actor }) => created(presentRole(await createRole(deps, body, actor))),
  }),
  route({
    method: 'GET',
    path: '/admin/roles',
    summary: 'List roles, by code',
    auth: 'admin_reader',
    query: pageByNameRequest,
    responses: { 200: rolePage },
    handle: async (deps, { query }) => okPage(await listRoles(deps, query), presentRole),
  }),
  route({
    method: 'GET',
    path: '/admin/roles/{roleCode}',
    summary: 'Show a role',
    auth: 'admin_reader',
    responses: { 200: roleRecord },
    handle: async (deps, { params }) => ok(presentRole(await getRole(deps, params.roleCode))),
  }),
  route({
    method: 'PATCH',
    path: '/admin/roles/{roleCode}',
    summary: 'Change the name or description of a role',
    description: 'The code and the scope of a role never change.',
    auth: 'configurer',
    body: updateRoleBody,
    record: roleRecord,
    responses: { 200: roleRecord },
    errors: ['code_immutable', 'built_in'],
    handle: async (deps, { params, body, sentBack, ...actor }) =>
      ok(presentRole(await updateRole(deps, params.roleCode, body, sentBack, actor))),
  }),
  route({
    method: 'DELETE',
    path: '/admin/roles/{roleCode}',
    summary: 'Delete a role',
    description: '409 while an app refers to it or users hold it. Pending invitations stay valid without it.',
    auth: 'system_admin',
    responses: { 204: null },
    errors: ['built_in', 'role_in_use'],
    handle: async (deps, { params, ...actor }) => deleteRole(deps, params.roleCode, actor),
  }),
  ...permissionsOfRoles(),
  ...rolesOfUsers(),
])

function permissionsOfRoles(): Route[] {
  const path = '/admin/roles/{roleCode}/permissions'
  return [
    route({
      method: 'GET',
      path,
      summary: 'List the permissions of a role, by code',
      description: '`super_admin` holds every permission.',
      auth: 'admin_reader',
      responses: { 200: rolePermissionList },
      handle: async (deps, { params }) => {
        const { code } = await getRole(deps, params.roleCode)
        return ok({ items: await listRolePermissions(deps, code) })
      },
    }),
    route({
      method: 'PUT',
      path,
      summary: 'Replace the permissions of a role',
      auth: 'configurer',
      bodyLimitBytes,
      body: permissionCodesBody,
      responses: { 200: changedRolePermissions },
      errors: ['built_in'],
      handle: async (deps, { params, body, ...actor }) => ok(await replaceRolePermissions(deps, { ...params, ...body }, actor)),
    }),
    route({
      method: 'POST',
      path,
      summary: 'Add permissions to a role',
      auth: 'configurer',
      bodyLimitBytes,
      body: permissionCodesBody,
      responses: { 200: changedRolePermissions },
      errors: ['built_in'],
      handle: async (deps, { params, body, ...actor }) => ok(await addRolePermissions(deps, { ...params, ...body }, actor)),
    }),
    route({
      method: 'DELETE',
      path: `${path}/{permission}`,
      summary: 'Remove a permission from a role',
      auth: 'system_admin',
      responses: { 204: null },
      errors: ['built_in'],
      handle: async (deps, { params, ...actor }) => removeRolePermission(deps, params, actor),
    }),
  ]
}

function rolesOfUsers(): Route[] {
  const path = '/admin/users/{userId}/roles'
  return [
    route({
      method: 'GET',
      path,
      summary: 'List the global roles of a user, by code',
      auth: 'help_desk_reader',
      responses: { 200: userRoleList },
      handle: async (deps, { params }) => ok({ items: (await listUserRoles(deps, params.userId)).map(presentUserRole) }),
    }),
    route({
      method: 'POST',
      path,
      summary: 'Give a user a global role',
      description:
        '201 if the user did not hold it, 200 if the user already did. Tokens carry it from their next refresh. `system_admin`, ' +
        '`auditor`, `help_desk` and `super_admin` are refused for an unproven account, which someone else may have registered.',
      auth: 'system_admin',
      body: assignRoleBody,
      responses: { 200: givenUserRole, 201: givenUserRole },
      errors: ['account_unverified'],
      handle: async (deps, { params, body, ...actor }) => {
        const { created, held, user } = await assignRole(deps, { ...params, ...body }, actor)
        return { status: created ? 201 : 200, body: presentGivenRole(held, user) }
      },
    }),
    route({
      method: 'DELETE',
      path: `${path}/{roleCode}`,
      summary: 'Remove a global role from a user',
      description: 'Tokens carry it until their next refresh, but a former admin loses the admin API at once.',
      auth: 'system_admin',
      responses: { 204: null },
      errors: ['last_system_admin'],
      handle: async (deps, { params, ...actor }) => unassignRole(deps, params, actor),
    }),
  ]
}
