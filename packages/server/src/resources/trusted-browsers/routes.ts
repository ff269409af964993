import { okPage, type Route, route } from '../../http/route.ts'
import { pageRequest } from '../../lib/fields.ts'
import { listTrustedBrowsers, revokeTrust, trustedBrowserPage } from './trusted-browsers.ts'

export const trustedBrowserRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/auth/trusted-browsers',
    tag: 'Account',
    summary: 'List the browsers that do not ask you for the second factor, newest first',
    auth: 'user',
    query: pageRequest,
    responses: { 200: trustedBrowserPage },
    handle: async (deps, { caller, query }) => okPage(await listTrustedBrowsers(deps, caller.userId, query)),
  }),
  route({
    method: 'DELETE',
    path: '/auth/trusted-browsers/{browserId}',
    tag: 'Account',
    summary: 'Ask for the second factor in a browser again',
    description: 'The second factor is asked for there at the next sign-in. Sessions continue.',
    auth: 'user',
    responses: { 204: null },
    handle: async (deps, { caller, params, origin }) =>
      revokeTrust(deps, { userId: caller.userId, ...params }, { caller, origin }),
  }),
  route({
    method: 'GET',
    path: '/admin/users/{userId}/trusted-browsers',
    tag: 'Users',
    summary: 'List the browsers that do not ask a user for the second factor, newest first',
    auth: 'help_desk_reader',
    query: pageRequest,
    responses: { 200: trustedBrowserPage },
    handle: async (deps, { params, query }) => okPage(await listTrustedBrowsers(deps, params.userId, query)),
  }),
  route({
    method: 'DELETE',
    path: '/admin/users/{userId}/trusted-browsers/{browserId}',
    tag: 'Users',
    summary: 'Ask a user for the second factor in a browser again',
    description: 'The second factor is asked for there at the next sign-in. Sessions continue.',
    auth: 'system_admin',
    responses: { 204: null },
    handle: async (deps, { params, ...actor }) => revokeTrust(deps, params, actor),
  }),
]
