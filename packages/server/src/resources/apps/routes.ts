import { created, noContent, ok, type Route, route } from '../../http/route.ts'
import { createApp } from './create-app.ts'
import { deleteApp } from './delete-app.ts'
import { getApp } from './get-app.ts'
import { listApps } from './list-apps.ts'
import { presentApp } from './present.ts'
import {
  appPage,
  appParams,
  appRecord,
  createAppBody,
  deleteAppQuery,
  listAppsQuery,
  updateAppBody,
  updatedApp,
} from './schema.ts'
import { updateApp } from './update-app.ts'

const tag = 'Apps'

export const appRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/admin/apps',
    tag,
    summary: 'Create an app',
    auth: 'system_admin',
    body: createAppBody,
    responses: { 201: appRecord },
    errors: ['app_code_taken', 'built_in'],
    handle: async (deps, { body, ...actor }) => created(presentApp(await createApp(deps, body, actor))),
  }),
  route({
    method: 'GET',
    path: '/admin/apps',
    tag,
    summary: 'List apps, newest first',
    auth: 'system_admin',
    query: listAppsQuery,
    responses: { 200: appPage },
    errors: [],
    handle: async (deps, { query }) => {
      const { items, nextCursor } = await listApps(deps, query)
      return ok({ items: items.map(presentApp), next_cursor: nextCursor })
    },
  }),
  route({
    method: 'GET',
    path: '/admin/apps/{appId}',
    tag,
    summary: 'Show an app',
    auth: 'system_admin',
    params: appParams,
    responses: { 200: appRecord },
    errors: [],
    handle: async (deps, { params }) => ok(presentApp(await getApp(deps, params.appId))),
  }),
  route({
    method: 'PATCH',
    path: '/admin/apps/{appId}',
    tag,
    summary: 'Change settings of an app',
    description: 'Setting its pools answers with `warnings` when users of more than one of them share e-mails.',
    auth: 'system_admin',
    params: appParams,
    body: updateAppBody,
    record: updatedApp,
    responses: { 200: updatedApp },
    errors: ['code_immutable', 'built_in', 'last_system_admin'],
    handle: async (deps, { params, body, sentBack, ...actor }) => {
      const { app, warnings } = await updateApp(deps, params.appId, body, sentBack, actor)
      return ok({ ...presentApp(app), ...(warnings.length > 0 ? { warnings } : {}) })
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/apps/{appId}',
    tag,
    summary: 'Delete an app',
    auth: 'system_admin',
    params: appParams,
    query: deleteAppQuery,
    responses: { 204: null },
    errors: ['app_in_use', 'built_in', 'last_system_admin'],
    handle: async (deps, { params, query, ...actor }) => {
      await deleteApp(deps, params.appId, { force: query.force === 'true' }, actor)
      return noContent()
    },
  }),
]
