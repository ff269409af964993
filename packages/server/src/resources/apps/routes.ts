import { z } from 'zod'
import { created, ok, okPage, route, section } from '../../http/route.ts'
import { changeSigning, describeSigning } from './app-keys.ts'
import { createApp, deleteApp, getApp, listApps, showApp, updateApp } from './apps.ts'
import { changeLogo, getLogo, getLogoOfApp } from './logo.ts'
import { presentApp, presentAppWith, presentSigning } from './present.ts'
import {
  appPage,
  appRecord,
  changeSigningBody,
  changeSigningQuery,
  createAppBody,
  deleteAppQuery,
  listAppsQuery,
  mostLogoBytes,
  shownApp,
  signingRecord,
  updateAppBody,
  updatedApp,
} from './schema.ts'

const imageTypes = ['image/png', 'image/jpeg', 'image/webp']

/** An image that somebody has uploaded. Opened by itself, it may do nothing. */
function sendImage({ type, image }: { type: string; image: Buffer }, cacheControl: string) {
  const headers = {
    'Content-Type': type,
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'Cache-Control': cacheControl,
  }
  return { status: 200, body: image, headers }
}

const image = z.instanceof(Buffer)

/** Outside the API: what pages of this service and of apps show. */
export const logoRoutes = section('Apps', [
  route({
    method: 'GET',
    path: '/logos/{digest}',
    summary: 'Show a logo',
    description: 'The `logo_path` of an app. What is there never changes.',
    auth: 'public',
    sends: imageTypes,
    responses: { 200: image },
    handle: async (deps, { params }) => sendImage(await getLogo(deps, params.digest), 'public, max-age=31536000, immutable'),
  }),
])

export const appRoutes = section('Apps', [
  route({
    method: 'POST',
    path: '/admin/apps',
    summary: 'Create an app',
    description:
      'The answer has `warnings` if users in more than one of its pools share an e-mail, or if its tokens will be long.',
    auth: 'configurer',
    body: createAppBody,
    responses: { 201: updatedApp },
    errors: ['app_code_taken'],
    handle: async (deps, { body, ...actor }) => {
      const { app, warnings } = await createApp(deps, body, actor)
      return created(presentAppWith(app, warnings))
    },
  }),
  route({
    method: 'GET',
    path: '/admin/apps',
    summary: 'List apps, newest first',
    auth: 'admin_reader',
    query: listAppsQuery,
    responses: { 200: appPage },
    handle: async (deps, { query }) => okPage(await listApps(deps, query), presentApp),
  }),
  route({
    method: 'GET',
    path: '/admin/apps/{appId}',
    summary: 'Show an app',
    auth: 'admin_reader',
    description: 'The answer has `warnings` if its tokens are long.',
    responses: { 200: shownApp },
    handle: async (deps, { params }) => {
      const { app, warnings } = await showApp(deps, params.appId)
      return ok(presentAppWith(app, warnings))
    },
  }),
  route({
    method: 'PATCH',
    path: '/admin/apps/{appId}',
    summary: 'Change settings of an app',
    description:
      'If you set its pools, the answer has `warnings` if users in more than one of them share an e-mail. If you set its ' +
      'services or the scope of its permissions, the answer has `warnings` if its tokens will be long.',
    auth: 'configurer',
    body: updateAppBody,
    record: updatedApp,
    responses: { 200: updatedApp },
    errors: ['code_immutable', 'built_in', 'last_system_admin'],
    handle: async (deps, { params, body, sentBack, ...actor }) => {
      const { app, warnings } = await updateApp(deps, params.appId, body, sentBack, actor)
      return ok(presentAppWith(app, warnings))
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/apps/{appId}',
    summary: 'Delete an app',
    auth: 'system_admin',
    query: deleteAppQuery,
    responses: { 204: null },
    errors: ['app_in_use', 'built_in', 'last_system_admin'],
    handle: async (deps, { params, query, ...actor }) => deleteApp(deps, params.appId, { force: query.force === 'true' }, actor),
  }),
  route({
    method: 'PUT',
    path: '/admin/apps/{appId}/logo',
    summary: 'Set the logo of an app',
    description: 'A PNG, JPEG or WebP image of at most 1,024 pixels a side. The content decides which it is.',
    auth: 'system_admin',
    takes: imageTypes,
    bodyLimitBytes: mostLogoBytes,
    responses: { 200: appRecord },
    handle: async (deps, { params, bytes, ...actor }) => ok(presentApp(await changeLogo(deps, params.appId, bytes, actor))),
  }),
  route({
    method: 'GET',
    path: '/admin/apps/{appId}/logo',
    summary: 'Read the logo of an app',
    auth: 'admin_reader',
    sends: imageTypes,
    responses: { 200: image },
    handle: async (deps, { params }) => sendImage(await getLogoOfApp(deps, params.appId), 'no-store'),
  }),
  route({
    method: 'DELETE',
    path: '/admin/apps/{appId}/logo',
    summary: 'Remove the logo of an app',
    auth: 'system_admin',
    responses: { 204: null },
    handle: async (deps, { params, ...actor }) => {
      await changeLogo(deps, params.appId, undefined, actor)
    },
  }),
  route({
    method: 'GET',
    path: '/admin/apps/{appId}/signing',
    summary: 'Show which keys sign the tokens of an app',
    description:
      'Shows the key ids. Only `gatehouse app-secret CODE`, on the machine of the service, prints the keys themselves.',
    auth: 'admin_reader',
    responses: { 200: signingRecord },
    handle: async (deps, { params }) => {
      const signing = await describeSigning(deps, await getApp(deps, params.appId))
      return ok(presentSigning(signing, deps.config.accessTtlSeconds))
    },
  }),
  route({
    method: 'POST',
    path: '/admin/apps/{appId}/signing',
    summary: 'Move a key change of an app one step forward or back',
    description:
      'No request fails if you call prepare, switch and finish in this order, and reconfigure the consumers between prepare ' +
      'and switch (docs/administer/own-keys.md). `finish` is refused while a consumer was recently seen without the new key, or while a ' +
      'token of the old key is valid, unless `force` is true.',
    auth: 'system_admin',
    query: changeSigningQuery,
    body: changeSigningBody,
    responses: { 200: signingRecord },
    errors: ['signing_step_impossible', 'consumers_behind'],
    handle: async (deps, { params, query, body, ...actor }) => {
      const signing = await changeSigning(deps, params.appId, { ...body, force: query.force === 'true' }, actor)
      return ok(presentSigning(signing, deps.config.accessTtlSeconds))
    },
  }),
])
