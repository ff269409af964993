import { setTimeout as sleep } from 'node:timers/promises'
import { createHttpApp } from './app.ts'
import type { Config } from './config.ts'
import type { Pool } from './db/handle.ts'
import { migrateDatabase } from './db/migrate.ts'
import { closeDeps, type Deps, withPatientConnection } from './deps.ts'
import { createSystemAdmin, grantAdminApps, hasSystemAdmin } from './flows/bootstrap/bootstrap.ts'
import { answerClientErrors, createServer, gracefulClose, inTurn } from './http/connections.ts'
import { codeOf } from './lib/system-error-code.ts'
import { warnOfGrowth } from './resources/audit/audit.ts'
import { systemActor } from './resources/audit/record-event.ts'
import { isAdministrable } from './resources/users/administration.ts'
import { assertKeyFits, assertMigratable, StartError } from './start-error.ts'
import { startAuditSealer } from './workers/audit-sealer.ts'
import { startCleanup } from './workers/cleanup.ts'
import { startHeartbeat } from './workers/heartbeat.ts'
import { startOutbox } from './workers/outbox.ts'
import { startRevocationFeed } from './workers/revocation-feed.ts'
import { mailChannel } from './workers/send-mail.ts'
import { createWebhookChannel } from './workers/send-webhook.ts'

const graceMs = 25_000
export const serverOptions = {
  /** How often Node looks for slow clients, in milliseconds. Its default of 30 seconds would add to their time limits. */
  connectionsCheckingInterval: 1_000,
  /** Bytes. A token with every permission of large services soon exceeds Node's default of 16 KiB. */
  maxHeaderSize: 64 * 1024,
}

interface RunningServer {
  url: string
  /**
   * Reports not ready and waits AUTH_SHUTDOWN_DELAY_SECONDS. Then it accepts no new connections, finishes requests in flight
   * (25 s at most), and closes everything.
   */
  stop(): Promise<void>
}

/** Prepares the database, then listens. Throws StartError if pending migrations may not run here, or if the port is taken. */
export async function serve(deps: Deps<Pool>): Promise<RunningServer> {
  for (const warning of deps.config.warnings) deps.logger.warn(warning)
  // Otherwise the hash threads would start in the first rush of logins, when there is least CPU to spare. The first admin's
  // password already needs one.
  deps.passwords.warmUp()
  await prepareDatabase(deps)
  deps.metrics.watchProcess()
  const server = createServer(serverOptions, inTurn(createHttpApp(deps).callback()))
  answerClientErrors(server)
  const close = gracefulClose(server, graceMs)
  server.headersTimeout = 10_000
  server.requestTimeout = 30_000
  const patient = withPatientConnection(deps)
  const feed = await startRevocationFeed(deps, patient.deps)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(deps.config.port, deps.config.host, resolve)
  }).catch(async (error: unknown) => {
    await feed.stop()
    await patient.close()
    throw codeOf(error) === 'EADDRINUSE' ? new StartError(portTaken(deps.config)) : error
  })
  const bound = server.address()
  if (bound === null || typeof bound === 'string') throw new Error('the server is not listening on a port')
  const { address, port, family } = bound
  const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  const heartbeat = startHeartbeat(deps)
  const cleanup = startCleanup(patient.deps)
  const sealer = startAuditSealer(patient.deps)
  const outbox = startOutbox(deps, { webhook: createWebhookChannel(), mail: mailChannel })
  if (deps.config.smtpUrl === undefined)
    deps.logger.info({ folder: deps.config.mailDir }, 'no SMTP_URL: mails are written to files')
  deps.logger.info({ url, server: heartbeat.id }, 'listening')
  return {
    url,
    async stop() {
      deps.lifecycle.isStopping = true
      // Streams would never end otherwise. Their consumers reconnect to another server.
      deps.revocationHub.close()
      // A load balancer sees from /ready that it must send nothing more. A connection that it opens during the shutdown could be
      // reset.
      await sleep(deps.config.shutdownDelaySeconds * 1_000)
      await close()
      await cleanup.stop()
      await sealer.stop()
      await outbox.stop()
      await feed.stop()
      await heartbeat.stop()
      await patient.close()
      await closeDeps(deps)
      deps.logger.info('stopped')
    },
  }
}

function portTaken({ host, port }: Config): string {
  return `port ${port} on ${host} is taken; stop the process that uses it, or set another PORT`
}

async function prepareDatabase(deps: Deps<Pool>): Promise<void> {
  assertMigratable(deps, await deps.lifecycle.pendingMigrations())
  const applied = await migrateDatabase(deps)
  if (applied.length > 0) deps.logger.info({ applied }, 'migrated')
  await assertKeyFits(deps)
  await warnOfGrowth(deps)
  const granted = await grantAdminApps(deps)
  if (granted > 0) deps.logger.info({ granted }, 'system_admins were granted the apps of AUTH_ADMIN_APP_CODES')

  const bootstrap = deps.config.bootstrapAdmin
  if (bootstrap) {
    const outcome = await createSystemAdmin(deps, { ...bootstrap, promote: false, unlessOneExists: true }, systemActor)
    if (outcome === 'created') deps.logger.info({ email: bootstrap.email }, 'first system_admin created')
  }
  if ((await hasSystemAdmin(deps)) && !(await isAdministrable(deps)))
    deps.logger.warn(
      'no system_admin can enter an active app of AUTH_ADMIN_APP_CODES: correct the setting, or run gatehouse create-admin --promote',
    )
}
