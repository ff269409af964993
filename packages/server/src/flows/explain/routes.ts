import { ok, type Route, route } from '../../http/route.ts'
import { explain } from './explain.ts'
import { explainQuery, explanation } from './schema.ts'

export const explainRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/explain',
    tag: 'App access',
    summary: 'Explain what a login would answer, and why',
    description:
      'Runs the login of a user through an app as if the password and any second factor were right, and rolls back everything ' +
      'that it wrote. The answer is 200 whatever the outcome, and 404 only for an unknown `user_id`.',
    auth: 'system_admin',
    query: explainQuery,
    responses: { 200: explanation },
    errors: ['not_found'],
    handle: async (deps, { query, origin }) => ok(await explain(deps, query, origin)),
  }),
]
