import { ok, okPage, route, section } from '../../http/route.ts'
import { pageByNameRequest } from '../../lib/fields.ts'
import { userRecord } from '../../lib/records.ts'
import {
  changePoolTags,
  changePoolTagsBody,
  collisionPage,
  listCollisions,
  listCollisionsQuery,
  listPools,
  moveUser,
  moveUserBody,
  poolPage,
  presentPools,
  presentUser,
  userPools,
} from './pools.ts'

export const poolRoutes = section('Pools', [
  route({
    method: 'GET',
    path: '/admin/namespaces',
    summary: 'List pools by name',
    description:
      'Lists the pools that a user or an app uses. There is no other way to create one. Pools that only apps use have no users.',
    auth: 'system_admin_reader',
    query: pageByNameRequest,
    responses: { 200: poolPage },
    handle: async (deps, { query }) => okPage(await listPools(deps, query)),
  }),
  route({
    method: 'GET',
    path: '/admin/namespaces/{namespace}/collisions',
    summary: 'List the e-mails that would collide if one app read both pools',
    description:
      'Ordered by e-mail. An app that reads both pools finds only one of the two users. 404 if no user or app uses `namespace`.',
    auth: 'system_admin_reader',
    query: listCollisionsQuery,
    responses: { 200: collisionPage },
    handle: async (deps, { params, query }) => okPage(await listCollisions(deps, { ...params, with: query.with }, query)),
  }),
  route({
    method: 'PUT',
    path: '/admin/users/{userId}/namespace',
    summary: 'Move a user to another home pool',
    description:
      'Ends all sessions and invalidates all tokens, because they name the pool. A tag of the new pool is dropped. The old ' +
      'pool does not become a tag.',
    auth: 'system_admin',
    body: moveUserBody,
    responses: { 200: userRecord },
    errors: ['email_exists_in_pool', 'last_system_admin'],
    handle: async (deps, { params, body, ...actor }) =>
      ok(presentUser(await moveUser(deps, params.userId, body.namespace, actor))),
  }),
  route({
    method: 'PATCH',
    path: '/admin/users/{userId}/namespaces',
    summary: 'Add and remove pool tags of a user',
    description:
      'Sessions continue. Adding a pool that the user is already in, or removing one that is not a tag, changes nothing.',
    auth: 'system_admin',
    body: changePoolTagsBody,
    responses: { 200: userPools },
    errors: ['email_exists_in_pool', 'last_system_admin'],
    handle: async (deps, { params, body, ...actor }) => ok(presentPools(await changePoolTags(deps, params.userId, body, actor))),
  }),
])
