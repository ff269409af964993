import { z } from 'zod'
import { ok, route, section } from '../../http/route.ts'
import { listServers } from './servers.ts'
import {
  assertMetricsToken,
  checkHealth,
  checkReadiness,
  collectMetrics,
  getSettings,
  healthRecord,
  readyRecord,
  serverList,
  settingsRecord,
} from './system.ts'

/**
 * For Prometheus, at the root of the service; guarded by AUTH_METRICS_TOKEN if that is set
 * (docs/reference/metrics-and-logs.md#metrics).
 */
export const metricsRoute = route({
  method: 'GET',
  path: '/metrics',
  summary: 'Metrics of this server in the text format of Prometheus',
  auth: 'public',
  offline: true,
  responses: { 200: z.string() },
  errors: ['token_missing', 'token_invalid'],
  async handle(deps, { bearer }) {
    assertMetricsToken(deps, bearer)
    return { ...ok(await collectMetrics(deps)), headers: { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' } }
  },
})

/** Routes about the process itself; `/ready` reports a missing database in its own shape. */
export const systemRoutes = section('System', [
  route({
    method: 'GET',
    path: '/health',
    summary: 'Liveness check. Does not touch the database',
    auth: 'public',
    offline: true,
    responses: { 200: healthRecord },
    handle: async () => ok(checkHealth()),
  }),
  route({
    method: 'GET',
    path: '/ready',
    summary: 'Readiness check. 503 with the failing check if the server should not get requests',
    auth: 'public',
    offline: true,
    responses: { 200: readyRecord, 503: readyRecord },
    handle: async (deps) => {
      const readiness = await checkReadiness(deps)
      return readiness.status === 'ready' ? ok(readiness) : { status: 503, body: readiness, retryAfter: 2 }
    },
  }),
  route({
    method: 'GET',
    path: '/admin/servers',
    summary: 'List the servers of the database that were seen in the last minute',
    auth: 'admin_reader',
    responses: { 200: serverList },
    handle: async (deps) => ok({ items: await listServers(deps) }),
  }),
  route({
    method: 'GET',
    path: '/admin/settings',
    summary: 'Show the settings that determine what the service allows. Contains no secrets and no infrastructure details',
    auth: 'admin_reader',
    responses: { 200: settingsRecord },
    handle: async (deps) => ok(await getSettings(deps)),
  }),
])
