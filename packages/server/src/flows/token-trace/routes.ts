import { ok, type Route, route } from '../../http/route.ts'
import { tokenTrace, traceTokenBody } from './schema.ts'
import { traceToken } from './trace-token.ts'

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
    errors: [],
    handle: async (deps, { body, ...actor }) => ok(await traceToken(deps, body.token, actor)),
  }),
]
