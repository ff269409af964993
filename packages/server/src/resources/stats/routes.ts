import { ok, type Route, route } from '../../http/route.ts'
import { collectStats, presentStats, statsQuery, statsRecord } from './stats.ts'

export const statsRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/stats',
    tag: 'System',
    summary:
      'Show how the service is doing: logins, lockouts, pending and failed deliveries, and consumers without the current secret',
    description: 'For a person who is looking at it; use `/metrics` for alerts. It can be polled every two seconds.',
    auth: 'admin_reader',
    query: statsQuery,
    responses: { 200: statsRecord },
    handle: async (deps, { query }) => ok(presentStats(await collectStats(deps, query.since))),
  }),
]
