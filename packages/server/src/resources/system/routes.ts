import { ok, type Route, route } from '../../http/route.ts'
import { checkReadiness } from './check-readiness.ts'
import { healthRecord, readyRecord } from './schema.ts'

const tag = 'System'

/** Routes about the process itself. `lifecycle` tells whether it is stopping. */
export function systemRoutes(options: { version: string; lifecycle: { isStopping: boolean } }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/health',
      tag,
      summary: 'Whether the process serves; asks no database',
      auth: 'public',
      responses: { 200: healthRecord },
      errors: [],
      handle: async () => ok({ status: 'ok', version: options.version }),
    }),
    route({
      method: 'GET',
      path: '/ready',
      tag,
      summary: 'Whether the server should get requests; 503 with the failing check otherwise',
      auth: 'public',
      responses: { 200: readyRecord, 503: readyRecord },
      errors: [],
      handle: async (deps) => {
        const readiness = await checkReadiness(deps, options.lifecycle)
        return readiness.status === 'ready' ? ok(readiness) : { status: 503, body: readiness, headers: { 'Retry-After': '2' } }
      },
    }),
  ]
}
