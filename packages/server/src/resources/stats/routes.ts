import { ok, type Route, route } from '../../http/route.ts'
import { collectStats } from './collect-stats.ts'
import { presentStats } from './present.ts'
import { statsQuery, statsRecord } from './schema.ts'

export const statsRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/stats',
    tag: 'System',
    summary:
      'How the service is doing: logins, locks, what waits to be sent or was given up, and consumers without the current secret',
    description: 'For a person who looks at it now; `/metrics` is for alarms. It may be asked every other second.',
    auth: 'system_admin',
    query: statsQuery,
    responses: { 200: statsRecord },
    errors: [],
    handle: async (deps, { query }) => ok(presentStats(await collectStats(deps, query.since))),
  }),
]
