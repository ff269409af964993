import { ok, type Route, route } from '../../http/route.ts'
import { openStream } from './open-stream.ts'
import { presentRevocation } from './present.ts'
import { readRevocations } from './read-revocations.ts'
import { feedPage, feedQuery, streamHeaders } from './schema.ts'

const tag = 'Consumers'
const mostItems = 1_000

export const revocationRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/revocations',
    tag,
    summary: 'What local validators of an app have to learn, since a cursor',
    description:
      'The events of the consumer’s app and those for all apps, at least once each. They are kept for 3,660 seconds, longer than any ' +
      'access token lives: whoever comes back later has missed nothing that still matters.',
    auth: 'consumer',
    noStore: true,
    query: feedQuery,
    responses: { 200: feedPage },
    errors: [],
    handle: async (deps, { caller, query }) => {
      const page = await readRevocations(deps, { appId: caller.appId, since: query.since, limit: mostItems })
      return ok({
        items: page.rows.map(presentRevocation),
        cursor: page.cursor,
        has_more: page.hasMore,
        reset: page.isReset,
      })
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
      'slow is dropped, and every stream ends when the server stops: connect again.',
    auth: 'consumer',
    noStore: true,
    headers: streamHeaders,
    query: feedQuery,
    eventStream: true,
    responses: { 200: null },
    errors: [],
    handle: async (deps, { caller, query, headers }) => ({
      status: 200,
      stream: await openStream(deps, caller, headers['last-event-id'] ?? query.since),
    }),
  }),
]
