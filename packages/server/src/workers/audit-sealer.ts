import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import { sealEvents } from '../resources/audit/seal-events.ts'
import { onDemand } from './on-demand.ts'

const intervalMs = 5_000

/**
 * Seals the audit log every few seconds. The log of the service gets the end of the chain, where nobody who changes the database can
 * reach it: with it, rows that are cut off the end are missed too.
 */
export function startAuditSealer(deps: Deps<Pool>, everyMs: number = intervalMs): { stop(): Promise<void> } {
  const { metrics, logger } = deps
  let isStopping = false
  let wasRefused = 0
  const sealer = onDemand(
    async () => {
      const { position, seal, sealed, refused } = await sealEvents(deps, () => isStopping)
      metrics.auditSealed.inc(sealed)
      metrics.auditRefused.set(refused)
      metrics.auditHead.set(position)
      if (sealed > 0) logger.info({ head: `${position}:${seal}`, sealed }, 'audit sealed')
      if (refused > wasRefused)
        logger.error({ refused }, 'audit events that the service did not write so; run: authctl audit verify')
      wasRefused = refused
    },
    (error) => logger.error({ err: error }, 'the audit cannot be sealed; trying again'),
  )
  const timer = setInterval(sealer.wake, everyMs)
  sealer.wake()
  return {
    async stop() {
      isStopping = true
      clearInterval(timer)
      await sealer.stop()
    },
  }
}
