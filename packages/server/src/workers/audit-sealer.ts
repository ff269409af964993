import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import { isInChain } from '../resources/audit/is-in-chain.ts'
import { sealEvents } from '../resources/audit/seal-events.ts'
import { onDemand } from './on-demand.ts'

const intervalMs = 5_000

/**
 * Seals the audit log every few seconds. The log of the service gets the end of the chain, where nobody who changes the database can
 * reach it: with it, rows that are cut off the end are missed too. What this server has seen of the end it misses by itself.
 */
export function startAuditSealer(deps: Deps<Pool>, everyMs: number = intervalMs): { stop(): Promise<void> } {
  const { metrics, logger } = deps
  let isStopping = false
  let wasRefused = 0
  let known: { position: number; seal: string } | undefined
  const sealer = onDemand(
    async () => {
      const { position, seal, sealed, refused } = await sealEvents(deps, () => isStopping)
      // Afterwards, or what is cut off between the look and the sealing would be forgotten.
      const isCutOff = known !== undefined && !(await isInChain(deps, known))
      if (known && isCutOff) {
        metrics.auditCutOffs.inc()
        logger.error({ head: headOf(known) }, 'audit events that were sealed are gone; run: authctl audit verify --head HEAD')
      }
      // The end just read may itself be from before the cut: told once is enough.
      known = isCutOff || position === 0 ? undefined : { position, seal }
      metrics.auditSealed.inc(sealed)
      metrics.auditRefused.set(refused)
      metrics.auditHead.set(position)
      if (sealed > 0) logger.info({ head: headOf({ position, seal }), sealed }, 'audit sealed')
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

function headOf({ position, seal }: { position: number; seal: string }): string {
  return `${position}:${seal}`
}
