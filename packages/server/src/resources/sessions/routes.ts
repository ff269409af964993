import { noContent, ok, route, section } from '../../http/route.ts'
import { userParams } from '../../lib/fields.ts'
import { listSessionsQuery, sessionPage, sessionParams, userSessionParams } from './schema.ts'
import { endUserSession, listSessions, listUserSessions, logOutEverywhere, logOutSelf } from './user-sessions.ts'

export const sessionRoutes = section('Account', [
  route({
    method: 'GET',
    path: '/auth/sessions',
    summary: 'List your live sessions, newest first',
    auth: 'user',
    query: listSessionsQuery,
    responses: { 200: sessionPage },
    errors: [],
    handle: async (deps, { caller, query }) => {
      const { items, nextCursor } = await listSessions(deps, { userId: caller.userId, currentId: caller.sessionId }, query)
      return ok({ items, next_cursor: nextCursor })
    },
  }),
  route({
    method: 'DELETE',
    path: '/auth/sessions/{sessionId}',
    summary: 'End one of your sessions',
    auth: 'user',
    params: sessionParams,
    responses: { 204: null },
    errors: [],
    handle: async (deps, { caller, params, origin }) => {
      await endUserSession(deps, { userId: caller.userId, ...params }, { caller, origin })
      return noContent()
    },
  }),
  route({
    method: 'POST',
    path: '/auth/logout-all',
    summary: 'End all your sessions, in every app',
    auth: 'user',
    responses: { 204: null },
    errors: [],
    handle: async (deps, { caller, origin }) => {
      await logOutSelf(deps, { caller, origin })
      return noContent()
    },
  }),
  route({
    method: 'GET',
    path: '/admin/users/{userId}/sessions',
    tag: 'Users',
    summary: 'List the live sessions of a user, newest first',
    auth: 'help_desk_reader',
    params: userParams,
    query: listSessionsQuery,
    responses: { 200: sessionPage },
    errors: [],
    handle: async (deps, { params, caller, query }) => {
      const currentId = caller.kind === 'user' ? caller.sessionId : undefined
      const { items, nextCursor } = await listUserSessions(deps, { ...params, currentId }, query)
      return ok({ items, next_cursor: nextCursor })
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/users/{userId}/sessions/{sessionId}',
    tag: 'Users',
    summary: 'End one session of a user',
    description: 'Its tokens become invalid at once. The other sessions of the user continue.',
    auth: 'help_desk',
    helps: async (_, { userId }) => userId,
    params: userSessionParams,
    responses: { 204: null },
    errors: [],
    handle: async (deps, { params, caller, origin }) => {
      await endUserSession(deps, params, { caller, origin })
      return noContent()
    },
  }),
  route({
    method: 'POST',
    path: '/admin/users/{userId}/logout',
    tag: 'Users',
    summary: 'End all sessions of a user, in every app',
    auth: 'help_desk',
    helps: async (_, { userId }) => userId,
    params: userParams,
    responses: { 204: null },
    errors: [],
    handle: async (deps, { params, caller, origin }) => {
      await logOutEverywhere(deps, params.userId, { caller, origin })
      return noContent()
    },
  }),
])
