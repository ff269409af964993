import { noContent, type Route, route } from '../../http/route.ts'
import { userParams } from './schema.ts'
import { unlockUser } from './unlock-user.ts'

export const lockoutRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/admin/users/{userId}/unlock',
    tag: 'Users',
    summary: 'Lift the lockout of a user',
    description: 'Forgets wrong passwords and wrong second-factor codes, whether or not they led to a lock.',
    auth: 'system_admin',
    params: userParams,
    responses: { 204: null },
    errors: [],
    handle: async (deps, { params, ...actor }) => {
      await unlockUser(deps, params.userId, actor)
      return noContent()
    },
  }),
]
