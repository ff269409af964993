import { ok, route, section } from '../../http/route.ts'
import { offboardUser, offboardUsers } from './offboard-user.ts'
import { offboarding, offboardings, offboardUserBody, offboardUsersBody, userParams } from './schema.ts'

export const offboardingRoutes = section('Users', [
  route({
    method: 'POST',
    path: '/admin/users/{userId}/offboard',
    summary: 'Close an account and remove everything it can access',
    description:
      'For a user who is leaving. In one transaction, suspends the account, ends its sessions, revokes its grants, ends its ' +
      'memberships, withdraws its invitations and those to its address, and deletes the service accounts whose token was last ' +
      'shown to the user. Repeating the call changes nothing. A person may have an account in each pool: each one is a ' +
      'separate user.',
    auth: 'system_admin',
    params: userParams,
    body: offboardUserBody,
    responses: { 200: offboarding },
    errors: ['last_system_admin'],
    handle: async (deps, { params, body, ...actor }) => ok(await offboardUser(deps, params.userId, body, actor)),
  }),
  route({
    method: 'POST',
    path: '/admin/users/offboard',
    summary: 'Close the accounts of many people and remove everything they can access',
    description:
      'Works as for one user, one account after the other, each in a transaction of its own. A user who was not found, or the ' +
      'last system_admin, has the outcome `failed` and does not stop the others. If the call fails as a whole, some accounts may ' +
      'be closed. Repeating it is safe: a closed account is `unchanged`.',
    auth: 'system_admin',
    body: offboardUsersBody,
    responses: { 200: offboardings },
    errors: [],
    handle: async (deps, { body, ...actor }) => ok({ items: await offboardUsers(deps, body, actor) }),
  }),
])
