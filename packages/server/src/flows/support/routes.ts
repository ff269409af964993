import { ok, type Route, route, section } from '../../http/route.ts'
import { explain } from './explain.ts'
import { offboarding, offboardings, offboardUser, offboardUserBody, offboardUsers, offboardUsersBody } from './offboarding.ts'
import { explainQuery, explanation, tokenTrace, traceTokenBody } from './schema.ts'
import { traceToken } from './token-trace.ts'

export const explainRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/explain',
    tag: 'App access',
    summary: 'Explain what a login would answer, and why',
    description:
      'Runs the login of a user through an app as if the password and any second factor were right, and rolls back everything ' +
      'that it wrote. The answer is 200 whatever the outcome, and 404 only for an unknown `user_id`.',
    auth: 'help_desk_reader',
    query: explainQuery,
    responses: { 200: explanation },
    errors: ['not_found'],
    handle: async (deps, { query, origin }) => ok(await explain(deps, query, origin)),
  }),
]

export const tokenTraceRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/admin/tokens/trace',
    tag: 'Audit',
    summary: 'Show who a token belongs to and what it gives access to',
    description:
      'For a token that was found where it should not be: an access token, a refresh token, a machine token, or the token of a ' +
      'service account. Changes nothing: a refresh token stays unused. The audit log records who asked and about whom, never ' +
      'the token. That record is the only thing it writes, so it refuses `dry_run`, which would leave it out.',
    auth: 'system_admin',
    dryRun: 'refused',
    noStore: true,
    body: traceTokenBody,
    responses: { 200: tokenTrace },
    handle: async (deps, { body, ...actor }) => ok(await traceToken(deps, body.token, actor)),
  }),
]

export const offboardingRoutes = section('Users', [
  route({
    method: 'POST',
    path: '/admin/users/{userId}/offboard',
    summary: 'Close an account and remove everything it can access',
    description:
      'For a user who is leaving. In one transaction, suspends the account, ends its sessions, revokes its grants, ends its ' +
      'memberships, withdraws its invitations and those to its address, and deletes the service accounts whose token was last ' +
      'shown to the user. Repeating the call changes nothing. A person may have an account in each pool: each one is a ' +
      'separate user.',
    auth: 'system_admin',
    body: offboardUserBody,
    responses: { 200: offboarding },
    errors: ['last_system_admin'],
    handle: async (deps, { params, body, ...actor }) => ok(await offboardUser(deps, params.userId, body, actor)),
  }),
  route({
    method: 'POST',
    path: '/admin/users/offboard',
    summary: 'Close the accounts of many people and remove everything they can access',
    description:
      'Works as for one user, one account after the other, each in a transaction of its own. A user who was not found, or the ' +
      'last system_admin, has the outcome `failed` and does not stop the others. If the call fails as a whole, some accounts may ' +
      'be closed. Repeating it is safe: a closed account is `unchanged`.',
    auth: 'system_admin',
    body: offboardUsersBody,
    responses: { 200: offboardings },
    handle: async (deps, { body, ...actor }) => ok({ items: await offboardUsers(deps, body, actor) }),
  }),
])
