import { ok, type Route, route } from '../../http/route.ts'
import { checkHealth, checkReadiness } from './check-readiness.ts'
import { healthRecord, readyRecord } from './schema.ts'

const tag = 'System'

/** Routes about the process itself; `/ready` reports a missing database in its own shape. */
export const systemRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/health',
    tag,
    summary: 'Whether the process serves; asks no database',
    auth: 'public',
    offline: true,
    responses: { 200: healthRecord },
    errors: [],
    handle: async () => ok(checkHealth()),
  }),
  route({
    method: 'GET',
    path: '/ready',
    tag,
    summary: 'Whether the server should get requests; 503 with the failing check otherwise',
    auth: 'public',
    offline: true,
    responses: { 200: readyRecord, 503: readyRecord },
    errors: [],
    handle: async (deps) => {
      const readiness = await checkReadiness(deps)
      return readiness.status === 'ready' ? ok(readiness) : { status: 503, body: readiness, headers: { 'Retry-After': '2' } }
    },
  }),
]
