import { noContent, type Route, route } from '../../http/route.ts'
import { removeSecondFactor } from './remove-second-factor.ts'
import { userParams } from './schema.ts'

export const secondFactorRoutes: Route[] = [
  route({
    method: 'DELETE',
    path: '/admin/users/{userId}/2fa',
    tag: 'Users',
    summary: 'Take the second factor of a user away',
    description: 'For somebody who lost both the device and the recovery codes. 404 when no second factor is active.',
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
