import { okPage, route, section } from '../../http/route.ts'
import { pageRequest } from '../../lib/fields.ts'
import { sessionPage } from './schema.ts'
import { endUserSession, listSessions, listUserSessions, logOutEverywhere, logOutSelf } from './user-sessions.ts'

export const sessionRoutes = section('Account', [
  route({
    method: 'GET',
    path: '/auth/sessions',
    summary: 'List your live sessions, newest first',
    auth: 'user',
    query: pageRequest,
    responses: { 200: sessionPage },
    handle: async (deps, { caller, query }) =>
      okPage(await listSessions(deps, { userId: caller.userId, currentId: caller.sessionId }, query)),
  }),
  route({
    method: 'DELETE',
    path: '/auth/sessions/{sessionId}',
    summary: 'End one of your sessions',
    auth: 'user',
    responses: { 204: null },
    handle: async (deps, { caller, params, origin }) =>
      endUserSession(deps, { userId: caller.userId, ...params }, { caller, origin }),
  }),
  route({
    method: 'POST',
    path: '/auth/logout-all',
    summary: 'End all your sessions, in every app',
    auth: 'user',
    responses: { 204: null },
    handle: async (deps, { caller, origin }) => logOutSelf(deps, { caller, origin }),
  }),
  route({
    method: 'GET',
    path: '/admin/users/{userId}/sessions',
    tag: 'Users',
    summary: 'List the live sessions of a user, newest first',
    auth: 'help_desk_reader',
    query: pageRequest,
    responses: { 200: sessionPage },
    handle: async (deps, { params, caller, query }) => {
      const currentId = caller.kind === 'user' ? caller.sessionId : undefined
      return okPage(await listUserSessions(deps, { ...params, currentId }, query))
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
    responses: { 204: null },
    handle: async (deps, { params, caller, origin }) => endUserSession(deps, params, { caller, origin }),
  }),
  route({
    method: 'POST',
    path: '/admin/users/{userId}/logout',
    tag: 'Users',
    summary: 'End all sessions of a user, in every app',
    auth: 'help_desk',
    helps: async (_, { userId }) => userId,
    responses: { 204: null },
    handle: async (deps, { params, caller, origin }) => logOutEverywhere(deps, params.userId, { caller, origin }),
  }),
])
