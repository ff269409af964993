import { noContent, type Route, route } from '../../http/route.ts'
import { removeSecondFactor } from './remove-second-factor.ts'
import { userParams } from './schema.ts'

export const secondFactorRoutes: Route[] = [
  route({
    method: 'DELETE',
    path: '/admin/users/{userId}/2fa',
    tag: 'Users',
    summary: 'Remove the second factor of a user',
    description: 'For a user who lost both the device and the recovery codes. 404 if no second factor is active.',
    auth: 'system_admin',
    params: userParams,
    responses: { 204: null },
    errors: [],
    handle: async (deps, { params, ...actor }) => {
      await removeSecondFactor(deps, params.userId, actor)
      return noContent()
    },
  }),
]
