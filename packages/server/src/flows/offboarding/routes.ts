import { ok, type Route, route } from '../../http/route.ts'
import { offboardUser } from './offboard-user.ts'
import { offboarding, offboardUserBody, userParams } from './schema.ts'

export const offboardingRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/admin/users/{userId}/offboard',
    tag: 'Users',
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
]
