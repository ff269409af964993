import { created, ok, okPage, type Route, route, section } from '../../http/route.ts'
import { pageRequest } from '../../lib/fields.ts'
import { listMembers, putMember, removeMember } from './members.ts'
import {
  createOrganization,
  createOrganizationBody,
  deleteOrganization,
  fellowMemberPage,
  fellowMemberRecord,
  getOrganization,
  listOrganizations,
  listOrganizationsQuery,
  memberPage,
  organizationDetail,
  organizationPage,
  presentFellowMember,
  presentMember,
  presentOrganization,
  presentPutMember,
  putMemberBody,
  putMemberRecord,
  updateOrganization,
  updateOrganizationBody,
} from './organizations.ts'

export const organizationRoutes = section('Organizations', [
  route({
    method: 'POST',
    path: '/admin/organizations',
    summary: 'Create an organization',
    description: 'Without `slug`, one is derived from the name, with a suffix if it is taken.',
    auth: 'system_admin',
    body: createOrganizationBody,
    responses: { 201: organizationDetail },
    errors: ['organization_slug_taken'],
    handle: async (deps, { body, ...actor }) => created(presentOrganization(await createOrganization(deps, body, actor))),
  }),
  route({
    method: 'GET',
    path: '/admin/organizations',
    summary: 'List organizations, newest first',
    auth: 'admin_reader',
    query: listOrganizationsQuery,
    responses: { 200: organizationPage },
    handle: async (deps, { query }) => okPage(await listOrganizations(deps, query), presentOrganization),
  }),
  route({
    method: 'GET',
    path: '/admin/organizations/{organizationId}',
    summary: 'Show an organization',
    auth: 'admin_reader',
    responses: { 200: organizationDetail },
    handle: async (deps, { params }) => ok(presentOrganization(await getOrganization(deps, params.organizationId))),
  }),
  route({
    method: 'PATCH',
    path: '/admin/organizations/{organizationId}',
    summary: 'Change the name or slug of an organization',
    description: 'Tokens carry a new slug from their next refresh.',
    auth: 'system_admin',
    body: updateOrganizationBody,
    record: organizationDetail,
    responses: { 200: organizationDetail },
    errors: ['organization_slug_taken'],
    handle: async (deps, { params, body, sentBack, ...actor }) =>
      ok(presentOrganization(await updateOrganization(deps, params.organizationId, body, sentBack, actor))),
  }),
  route({
    method: 'DELETE',
    path: '/admin/organizations/{organizationId}',
    summary: 'Delete an organization',
    description: 'Also deletes its invitations. 409 while an app refers to it or users are members.',
    auth: 'system_admin',
    responses: { 204: null },
    errors: ['organization_in_use'],
    handle: async (deps, { params, ...actor }) => deleteOrganization(deps, params.organizationId, actor),
  }),
  ...memberRoutes('system_admin'),
  ...memberRoutes('org_admin'),
])

/** The member calls exist twice: in the admin API, and below `/organizations` for the organization's own admins. */
function memberRoutes(by: 'system_admin' | 'org_admin'): Route[] {
  const forAdmins = by === 'system_admin'
  const auth = forAdmins ? 'system_admin' : 'user'
  const path = `${forAdmins ? '/admin' : ''}/organizations/{organizationId}/members` as const
  const whose = forAdmins ? '' : ', as its org_admin'
  const refusals = forAdmins ? [] : (['organization_admin_required'] as const)
  const changeRefusals = forAdmins ? [] : ([...refusals, 'last_organization_admin', 'rate_limited'] as const)
  const present = forAdmins ? presentMember : presentFellowMember
  return [
    route({
      method: 'GET',
      path,
      summary: `List the members of an organization, newest first${whose}`,
      auth: forAdmins ? 'admin_reader' : 'user',
      query: pageRequest,
      responses: { 200: forAdmins ? memberPage : fellowMemberPage },
      errors: refusals,
      handle: async (deps, { params, query, ...actor }) =>
        okPage(await listMembers(deps, { ...params, by }, query, actor), present),
    }),
    route({
      method: 'PUT',
      path: `${path}/{userId}`,
      summary: forAdmins ? "Make a user a member, or replace a member's roles" : `Replace the roles of a member${whose}`,
      description: forAdmins
        ? '201 if the user became a member, 200 if the user already was one. Only org-scoped roles are accepted.'
        : 'Only org-scoped roles are accepted. Roles that are added or removed must be `assignable_by` an org_admin. The answer ' +
          'for a user who is not a member is 404, as for an unknown id: users join with an invitation.',
      auth,
      body: putMemberBody,
      responses: forAdmins ? { 200: putMemberRecord, 201: putMemberRecord } : { 200: fellowMemberRecord },
      errors: changeRefusals,
      handle: async (deps, { params, body, ...actor }) => {
        const { created, member } = await putMember(deps, { ...params, ...body, by }, actor)
        return { status: created ? 201 : 200, body: (forAdmins ? presentPutMember : presentFellowMember)(member) }
      },
    }),
    route({
      method: 'DELETE',
      path: `${path}/{userId}`,
      summary: `Remove a member from an organization${whose}${forAdmins ? '' : ', or leave it'}`,
      description:
        'Tokens with this organization stay valid until they expire, but cannot be refreshed with it.' +
        (forAdmins
          ? ''
          : ' Any member may leave. The last active org_admin may only leave if no other member is left. You cannot remove another ' +
            'member who holds a role that only a system_admin can remove.'),
      auth,
      responses: { 204: null },
      errors: forAdmins ? [] : [...changeRefusals, 'system_admin_required'],
      handle: async (deps, { params, ...actor }) => removeMember(deps, { ...params, by }, actor),
    }),
  ]
}
