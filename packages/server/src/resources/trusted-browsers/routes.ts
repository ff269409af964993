import { noContent, ok, type Route, route } from '../../http/route.ts'
import { userParams } from '../../lib/fields.ts'
import {
  listTrustedBrowsers,
  listTrustedBrowsersQuery,
  revokeTrust,
  trustedBrowserPage,
  trustedBrowserParams,
  userTrustedBrowserParams,
} from './trusted-browsers.ts'

export const trustedBrowserRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/auth/trusted-browsers',
    tag: 'Account',
    summary: 'List the browsers that do not ask you for the second factor, newest first',
    auth: 'user',
    query: listTrustedBrowsersQuery,
    responses: { 200: trustedBrowserPage },
    errors: [],
    handle: async (deps, { caller, query }) => {
      const { items, nextCursor } = await listTrustedBrowsers(deps, caller.userId, query)
      return ok({ items, next_cursor: nextCursor })
    },
  }),
  route({
    method: 'DELETE',
    path: '/auth/trusted-browsers/{browserId}',
    tag: 'Account',
    summary: 'Ask for the second factor in a browser again',
    description: 'The second factor is asked for there at the next sign-in. Sessions continue.',
    auth: 'user',
    params: trustedBrowserParams,
    responses: { 204: null },
    errors: [],
    handle: async (deps, { caller, params, origin }) => {
      await revokeTrust(deps, { userId: caller.userId, ...params }, { caller, origin })
      return noContent()
    },
  }),
  route({
    method: 'GET',
    path: '/admin/users/{userId}/trusted-browsers',
    tag: 'Users',
    summary: 'List the browsers that do not ask a user for the second factor, newest first',
    auth: 'help_desk_reader',
    params: userParams,
    query: listTrustedBrowsersQuery,
    responses: { 200: trustedBrowserPage },
    errors: [],
    handle: async (deps, { params, query }) => {
      const { items, nextCursor } = await listTrustedBrowsers(deps, params.userId, query)
      return ok({ items, next_cursor: nextCursor })
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/users/{userId}/trusted-browsers/{browserId}',
    tag: 'Users',
    summary: 'Ask a user for the second factor in a browser again',
    description: 'The second factor is asked for there at the next sign-in. Sessions continue.',
    auth: 'system_admin',
    params: userTrustedBrowserParams,
    responses: { 204: null },
    errors: [],
    handle: async (deps, { params, ...actor }) => {
      await revokeTrust(deps, params, actor)
      return noContent()
    },
  }),
]
