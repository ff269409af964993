import { ok, type Route, route } from '../../http/route.ts'
import { changePoolTags } from './change-pool-tags.ts'
import { listCollisions } from './list-collisions.ts'
import { listPools } from './list-pools.ts'
import { moveUser } from './move-user.ts'
import { presentPools, presentUser } from './present.ts'
import {
  changePoolTagsBody,
  collisionPage,
  listCollisionsQuery,
  listPoolsQuery,
  moveUserBody,
  poolPage,
  poolParams,
  userParams,
  userPools,
  userRecord,
} from './schema.ts'

const tag = 'Pools'

export const poolRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/namespaces',
    tag,
    summary: 'List pools by name',
    description: 'Those that a user or an app names; there is no other way to make one. Pools that only apps name have no users.',
    auth: 'system_admin',
    query: listPoolsQuery,
    responses: { 200: poolPage },
    errors: [],
    handle: async (deps, { query }) => {
      const { items, nextCursor } = await listPools(deps, query)
      return ok({ items, next_cursor: nextCursor })
    },
  }),
  route({
    method: 'GET',
    path: '/admin/namespaces/{namespace}/collisions',
    tag,
    summary: 'List the e-mails that would meet if one app read both pools',
    description: 'By e-mail. An app that reads both finds one user of each alone. 404 for a pool that no user and no app names.',
    auth: 'system_admin',
    params: poolParams,
    query: listCollisionsQuery,
    responses: { 200: collisionPage },
    errors: [],
    handle: async (deps, { params, query }) => {
      const { items, nextCursor } = await listCollisions(deps, { ...params, with: query.with }, query)
      return ok({ items, next_cursor: nextCursor })
    },
  }),
  route({
    method: 'PUT',
    path: '/admin/users/{userId}/namespace',
    tag,
    summary: 'Move a user to another home pool',
    description:
      'Ends all sessions and kills all tokens, which name the pool. A tag of the new pool is dropped; the old pool is not kept as one.',
    auth: 'system_admin',
    params: userParams,
    body: moveUserBody,
    responses: { 200: userRecord },
    errors: ['email_exists_in_pool', 'last_system_admin'],
    handle: async (deps, { params, body, ...actor }) =>
      ok(presentUser(await moveUser(deps, params.userId, body.namespace, actor))),
  }),
  route({
    method: 'PATCH',
    path: '/admin/users/{userId}/namespaces',
    tag,
    summary: 'Add and remove pool tags of a user',
    description: 'Sessions go on. Adding a pool that the user is in, and removing one that is no tag, changes nothing.',
    auth: 'system_admin',
    params: userParams,
    body: changePoolTagsBody,
    responses: { 200: userPools },
    errors: ['email_exists_in_pool', 'last_system_admin'],
    handle: async (deps, { params, body, ...actor }) => ok(presentPools(await changePoolTags(deps, params.userId, body, actor))),
  }),
]
