import { ok, route, section } from '../../http/route.ts'
import { feedPage, feedQuery, openStream, presentRevocation, readRevocations, streamHeaders } from './revocations.ts'

const mostItems = 1_000
const identity = '`X-App-Id` is the id of the app. `X-Service-Id` is the id of the service; each database has one.'

export const revocationRoutes = section('Consumers', [
  route({
    method: 'GET',
    path: '/revocations',
    summary: 'List revocations since a cursor, for local validators of an app',
    description:
      'Returns the events for the consumer’s app and for all apps, each at least once. They are kept for 3,660 seconds, longer ' +
      'than any access token lives, so a consumer that comes back later has missed nothing that still matters. An inactive app ' +
      'has its feed too, and so does the code of a deleted app for that time, unless another app takes it. ' +
      identity,
    auth: 'consumer',
    noStore: true,
    query: feedQuery,
    responses: { 200: feedPage },
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
    summary: 'Stream the same revocations as server-sent events',
    description:
      'Each event has its cursor as `id` and a Revocation as `data`. A comment is sent every 15 seconds. `Last-Event-ID` ' +
      'resumes; without it, the stream starts with everything that is live. An event named `reset` means the same as `reset` ' +
      'of the poll. A reader that is too slow is disconnected. A stream ends when the server stops, and when the keys of the ' +
      'app change or another app takes its code: connect again. An app has at most 2,500 streams at a server. ' +
      identity,
    auth: 'consumer',
    noStore: true,
    headers: streamHeaders,
    query: feedQuery,
    eventStream: true,
    responses: { 200: null },
    errors: ['rate_limited'],
    handle: async (deps, { caller, query, headers }) => ({
      status: 200,
      headers: identityHeaders(caller),
      stream: await openStream(deps, caller, { since: headers['last-event-id'] ?? query.since, form: query.form }),
    }),
  }),
])

/** Identifies the app and the service of a feed, because the code of an app and an address may be reused. */
function identityHeaders({ app, serviceId }: { app: { id: string }; serviceId: string }): Record<string, string> {
  return { 'X-App-Id': app.id, 'X-Service-Id': serviceId }
}
