import { ok, okPage, route, section } from '../../http/route.ts'
import { listGrantsOfApp, listGrantsOfUser, presentRequest, putGrant, putGrants, revokeGrant, revokeGrants } from './grants.ts'
import { approveRequest, denyRequest, listRequests } from './requests.ts'
import {
  accessRequestPage,
  accessRequestRecord,
  approveRequestBody,
  bulkGrantAnswer,
  bulkGrantBody,
  bulkRevokeAnswer,
  bulkRevokeBody,
  denyRequestBody,
  givenGrant,
  grantBody,
  grantPage,
  grantRecord,
  listAccessRequestsQuery,
  listGrantsQuery,
} from './schema.ts'

export const grantRoutes = section('App access', [
  route({
    method: 'POST',
    path: '/admin/users/{userId}/apps/{appId}',
    summary: 'Grant a user access to an app',
    description: '201 if the grant was created, 200 if it was already active.',
    auth: 'system_admin',
    body: grantBody,
    responses: { 200: givenGrant, 201: givenGrant },
    errors: ['last_system_admin'],
    handle: async (deps, { params, body, ...actor }) => {
      const { outcome, grant } = await putGrant(deps, { userId: params.userId, appRef: params.appId, ...body }, actor)
      return { status: outcome === 'granted' ? 201 : 200, body: grant }
    },
  }),
  route({
    method: 'POST',
    path: '/admin/apps/{appId}/grants',
    summary: 'Grant many users access to an app',
    description:
      'Works as for one user, with the same expiry and reason for all of them. Everything that can be granted is granted in ' +
      'one transaction. A user who was not found has the outcome `failed` and does not stop the others. A user who is named ' +
      'twice is `unchanged` the second time.',
    auth: 'system_admin',
    body: bulkGrantBody,
    responses: { 200: bulkGrantAnswer },
    errors: ['last_system_admin'],
    handle: async (deps, { params, body, ...actor }) =>
      ok({ items: await putGrants(deps, { appRef: params.appId, ...body }, actor) }),
  }),
  route({
    method: 'POST',
    path: '/admin/apps/{appId}/grants/revoke',
    summary: 'Revoke the access of many users to an app',
    description:
      'Works as for one user, in one transaction. A user who was not found has the outcome `failed` and does not stop the others. ' +
      'A user without an active grant is `unchanged`.',
    auth: 'system_admin',
    body: bulkRevokeBody,
    responses: { 200: bulkRevokeAnswer },
    errors: ['last_system_admin'],
    handle: async (deps, { params, body, ...actor }) =>
      ok({ items: await revokeGrants(deps, { appRef: params.appId, ...body }, actor) }),
  }),
  route({
    method: 'DELETE',
    path: '/admin/users/{userId}/apps/{appId}',
    summary: "Revoke a user's access to an app",
    description:
      'Invalidates the tokens and sessions of this user for this app. Other apps are unaffected. 404 if no grant is active.',
    auth: 'system_admin',
    responses: { 200: grantRecord },
    errors: ['last_system_admin'],
    handle: async (deps, { params, ...actor }) =>
      ok(await revokeGrant(deps, { userId: params.userId, appRef: params.appId }, actor)),
  }),
  route({
    method: 'GET',
    path: '/admin/users/{userId}/apps',
    summary: 'List the grants of a user, newest first',
    auth: 'help_desk_reader',
    query: listGrantsQuery,
    responses: { 200: grantPage },
    handle: async (deps, { params, query }) => okPage(await listGrantsOfUser(deps, params.userId, query)),
  }),
  route({
    method: 'GET',
    path: '/admin/apps/{appId}/users',
    summary: 'List the grants of an app with their users, newest first',
    auth: 'admin_reader',
    query: listGrantsQuery,
    responses: { 200: grantPage },
    handle: async (deps, { params, query }) => okPage(await listGrantsOfApp(deps, params.appId, query)),
  }),
  route({
    method: 'GET',
    path: '/admin/access-requests',
    summary: 'List access requests, newest first',
    auth: 'admin_reader',
    query: listAccessRequestsQuery,
    responses: { 200: accessRequestPage },
    errors: ['not_found'],
    handle: async (deps, { query: { status, app, user_id, ...request } }) =>
      okPage(await listRequests(deps, { status, app, user_id }, request), presentRequest),
  }),
  route({
    method: 'POST',
    path: '/admin/access-requests/{requestId}/approve',
    summary: 'Approve an access request',
    description: 'Works like any other grant. The user is notified by mail.',
    auth: 'system_admin',
    body: approveRequestBody,
    responses: { 200: accessRequestRecord },
    errors: ['access_request_decided'],
    handle: async (deps, { params, body, ...actor }) =>
      ok(presentRequest(await approveRequest(deps, params.requestId, body, actor))),
  }),
  route({
    method: 'POST',
    path: '/admin/access-requests/{requestId}/deny',
    summary: 'Deny an access request',
    description: 'The user is notified by mail, with the reason.',
    auth: 'system_admin',
    body: denyRequestBody,
    responses: { 200: accessRequestRecord },
    errors: ['access_request_decided'],
    handle: async (deps, { params, body, ...actor }) =>
      ok(presentRequest(await denyRequest(deps, params.requestId, body, actor))),
  }),
])
