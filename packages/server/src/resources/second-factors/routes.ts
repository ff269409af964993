import { okPage, type Route, route } from '../../http/route.ts'
import { listWithoutSecondFactor, removeSecondFactor, reportPage, reportQuery } from './second-factors.ts'

export const secondFactorRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/apps/{appId}/without-second-factor',
    tag: 'App access',
    summary: 'List the users of an app who own neither a second factor nor a passkey, newest first',
    description: 'Of the users who can enter it. They are the ones who must set one up where `require_two_factor` is `everyone`.',
    auth: 'admin_reader',
    query: reportQuery,
    responses: { 200: reportPage },
    handle: async (deps, { params, query }) => okPage(await listWithoutSecondFactor(deps, params.appId, query)),
  }),
  route({
    method: 'DELETE',
    path: '/admin/users/{userId}/2fa',
    tag: 'Users',
    summary: 'Remove the second factor of a user',
    description: 'For a user who lost both the device and the recovery codes. 404 if no second factor is active.',
    auth: 'help_desk',
    helps: async (_, { userId }) => userId,
    responses: { 204: null },
    handle: async (deps, { params, ...actor }) => removeSecondFactor(deps, params.userId, actor),
  }),
]
