import { ok, type Route, route } from '../../http/route.ts'
import { openStream } from './open-stream.ts'
import { presentRevocation } from './present.ts'
import { readRevocations } from './read-revocations.ts'
import { feedPage, feedQuery, streamHeaders } from './schema.ts'

const tag = 'Consumers'
const mostItems = 1_000
const identity = '`X-App-Id` is the id of the app, `X-Service-Id` that of the service, one per database.'

export const revocationRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/revocations',
    tag,
    summary: 'What local validators of an app have to learn, since a cursor',
    description:
      'The events of the consumer’s app and those for all apps, at least once each. They are kept for 3,660 seconds, longer than any ' +
      'access token lives: whoever comes back later has missed nothing that still matters. An inactive app has its feed too, and ' +
      `so has the code of a deleted one for as long, unless another app takes it. ${identity}`,
    auth: 'consumer',
    noStore: true,
    query: feedQuery,
    responses: { 200: feedPage },
    errors: [],
    handle: async (deps, { caller, query }) => {
      const page = await readRevocations(deps, { appId: caller.app.id, since: query.since, form: query.form, limit: mostItems })
      const body = {
        items: page.rows.map(presentRevocation),
        cursor: page.cursor,
        app_id: caller.app.id,
        has_more: page.hasMore,
        reset: page.isReset,
      }
      return { ...ok(body), headers: identityHeaders(caller) }
    },
  }),
  route({
    method: 'GET',
    path: '/revocations/stream',
    tag,
    summary: 'The same as server-sent events, each as it happens',
    description:
      'Each event has its cursor as `id` and a Revocation as `data`; a comment comes every 15 seconds. `Last-Event-ID` resumes, and ' +
      'without one all that is live comes first. An event named `reset` says what `reset` of the poll says. A reader that is too ' +
      `slow is dropped, and every stream ends when the server stops: connect again. ${identity}`,
    auth: 'consumer',
    noStore: true,
    headers: streamHeaders,
    query: feedQuery,
    eventStream: true,
    responses: { 200: null },
    errors: [],
    handle: async (deps, { caller, query, headers }) => ({
      status: 200,
      headers: identityHeaders(caller),
      stream: await openStream(deps, caller, { since: headers['last-event-id'] ?? query.since, form: query.form }),
    }),
  }),
]

/** Identifies the app and the service of a feed, because the code of an app and an address may be reused. */
function identityHeaders({ app, serviceId }: { app: { id: string }; serviceId: string }): Record<string, string> {
  return { 'X-App-Id': app.id, 'X-Service-Id': serviceId }
}
