import { ok, type Route, route } from '../../http/route.ts'
import { offboardUser } from './offboard-user.ts'
import { offboarding, offboardUserBody, userParams } from './schema.ts'

export const offboardingRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/admin/users/{userId}/offboard',
    tag: 'Users',
    summary: 'Close an account with all that it can reach',
    description:
      'For somebody who leaves now, in one transaction: suspends the account, ends its sessions, revokes its grants, ends its ' +
      'memberships, takes back its invitations and those to its address, and deletes the service accounts whose token the user was ' +
      'shown last. Repeating the call changes nothing. A person may have an account in each pool: each is a user of its own.',
    auth: 'system_admin',
    params: userParams,
    body: offboardUserBody,
    responses: { 200: offboarding },
    errors: ['last_system_admin'],
    handle: async (deps, { params, body, ...actor }) => ok(await offboardUser(deps, params.userId, body, actor)),
  }),
]
