import { created, ok, okPage, type Route, route, section } from '../../http/route.ts'
import { pageRequest } from '../../lib/fields.ts'
import { createInvitation, deleteInvitation, joinOrganization, listInvitations } from './invitations.ts'
import { acceptedInvitation, acceptInvitationBody, createdInvitation, createInvitationBody, invitationPage } from './schema.ts'

export const invitationRoutes = section('Organizations', [
  ...invitationRoutesFor('system_admin'),
  ...invitationRoutesFor('org_admin'),
  route({
    method: 'POST',
    path: '/auth/invitations/accept',
    summary: 'Accept an invitation with your account',
    description:
      'Joins the inviting organization with the invitation’s roles. An existing member gets 409: the membership does not ' +
      'change, and the invitation stays unused. To get a token with the organization, refresh with its `organization_id`.',
    auth: 'user',
    noStore: true,
    body: acceptInvitationBody,
    responses: { 200: acceptedInvitation },
    errors: ['already_member', 'invalid_invitation'],
    handle: async (deps, { body, ...actor }) => ok({ organization: await joinOrganization(deps, body.token, actor) }),
  }),
])

/** These calls exist twice: in the admin API, and below `/organizations` for the organization's own admins. */
function invitationRoutesFor(by: 'system_admin' | 'org_admin'): Route[] {
  const forAdmins = by === 'system_admin'
  const auth = forAdmins ? 'system_admin' : 'user'
  const path = `${forAdmins ? '/admin' : ''}/organizations/{organizationId}/invitations` as const
  const whose = forAdmins ? '' : ', as its org_admin'
  const refusals = forAdmins ? [] : (['organization_admin_required'] as const)
  return [
    route({
      method: 'POST',
      path,
      summary: `Invite to an organization${whose}`,
      description: forAdmins
        ? 'The token is shown only once. Accepting the invitation grants the app `app_code` and verifies the address `email`.'
        : 'The token is shown only once. `app_code` only sets the app whose frontend the link leads to. Your address must be ' +
          'verified, and AUTH_INVITATION_LIMIT applies.',
      auth,
      noStore: true,
      body: createInvitationBody,
      responses: { 201: createdInvitation },
      errors: forAdmins ? [] : [...refusals, 'email_unverified', 'rate_limited'],
      handle: async (deps, { params, body, ...actor }) =>
        created(await createInvitation(deps, { ...params, ...body, by }, actor)),
    }),
    route({
      method: 'GET',
      path,
      summary: `List the invitations of an organization, newest first${whose}`,
      auth: forAdmins ? 'admin_reader' : 'user',
      query: pageRequest,
      responses: { 200: invitationPage },
      errors: refusals,
      handle: async (deps, { params, query, ...actor }) => okPage(await listInvitations(deps, { ...params, by }, query, actor)),
    }),
    route({
      method: 'DELETE',
      path: `${path}/{invitationId}`,
      summary: `Withdraw an invitation${whose}`,
      auth,
      responses: { 204: null },
      errors: refusals,
      handle: async (deps, { params, ...actor }) => deleteInvitation(deps, { ...params, by }, actor),
    }),
  ]
}
