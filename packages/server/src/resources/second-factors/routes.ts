import { noContent, ok, type Route, route } from '../../http/route.ts'
import { appParams, userParams } from '../../lib/fields.ts'
import { listWithoutSecondFactor, removeSecondFactor, reportPage, reportQuery } from './second-factors.ts'

export const secondFactorRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/apps/{appId}/without-second-factor',
    tag: 'App access',
    summary: 'List the users of an app who own neither a second factor nor a passkey, newest first',
    description: 'Of the users who can enter it. They are the ones who must set one up where `require_two_factor` is `everyone`.',
    auth: 'admin_reader',
    params: appParams,
    query: reportQuery,
    responses: { 200: reportPage },
    errors: [],
    handle: async (deps, { params, query }) => {
      const { items, nextCursor } = await listWithoutSecondFactor(deps, params.appId, query)
      return ok({ items, next_cursor: nextCursor })
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/users/{userId}/2fa',
    tag: 'Users',
    summary: 'Remove the second factor of a user',
    description: 'For a user who lost both the device and the recovery codes. 404 if no second factor is active.',
    auth: 'help_desk',
    helps: async (_, { userId }) => userId,
    params: userParams,
    responses: { 204: null },
    errors: [],
    handle: async (deps, { params, ...actor }) => {
      await removeSecondFactor(deps, params.userId, actor)
      return noContent()
    },
  }),
]
