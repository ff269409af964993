import { noContent, ok, type Route, route } from '../../http/route.ts'
import { endOwnSession } from './end-own-session.ts'
import { listSessions } from './list-sessions.ts'
import { logOutEverywhere } from './log-out-everywhere.ts'
import { listSessionsQuery, sessionPage, sessionParams, userParams } from './schema.ts'

const tag = 'Account'

export const sessionRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/auth/sessions',
    tag,
    summary: 'List the own sessions that are alive, newest first',
    auth: 'user',
    query: listSessionsQuery,
    responses: { 200: sessionPage },
    errors: [],
    handle: async (deps, { caller, query }) => {
      const { items, nextCursor } = await listSessions(deps, caller, query)
      return ok({ items, next_cursor: nextCursor })
    },
  }),
  route({
    method: 'DELETE',
    path: '/auth/sessions/{sessionId}',
    tag,
    summary: 'End one of the own sessions',
    auth: 'user',
    params: sessionParams,
    responses: { 204: null },
    errors: [],
    handle: async (deps, { caller, params, origin }) => {
      await endOwnSession(deps, caller, params.sessionId, { caller, origin })
      return noContent()
    },
  }),
  route({
    method: 'POST',
    path: '/auth/logout-all',
    tag,
    summary: 'End all of the own sessions, in every app',
    auth: 'user',
    responses: { 204: null },
    errors: [],
    handle: async (deps, { caller, origin }) => {
      await logOutEverywhere(deps, caller.userId, { caller, origin })
      return noContent()
    },
  }),
  route({
    method: 'POST',
    path: '/admin/users/{userId}/logout',
    tag: 'Users',
    summary: 'End all sessions of a user, in every app',
    auth: 'system_admin',
    params: userParams,
    responses: { 204: null },
    errors: [],
    handle: async (deps, { params, caller, origin }) => {
      await logOutEverywhere(deps, params.userId, { caller, origin })
      return noContent()
    },
  }),
]
