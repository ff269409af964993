import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import type { FormerCheck } from '../lib/former-audit-check.ts'
import { type End, isInChain } from '../resources/audit/chain.ts'
import { sealEvents } from '../resources/audit/seal-events.ts'
import { wakeable } from './wakeable.ts'

const intervalMs = 5_000

/**
 * Seals the audit every few seconds. The head of the chain goes to the service log, out of reach of an attacker who can change
 * the database. With it, `audit verify` detects rows that were cut off the end. This server itself detects the loss of a head it
 * saw.
 */
export function startAuditSealer(deps: Deps<Pool>, everyMs: number = intervalMs): { stop(): Promise<void> } {
  const { metrics, logger } = deps
  let isStopping = false
  let refusedEvents = 0
  let wasRefused = 0
  let known: End | undefined
  let isFormerTold = false
  const sealer = wakeable(
    async () => {
      const { position, seal, batch, sealed, former, ...found } = await sealEvents(deps, () => isStopping)
      const end = { position, seal, batch }
      // Check after sealing. An earlier check would miss rows that are cut off before the sealing.
      const isCutOff = known !== undefined && !(await isInChain(deps, known, end))
      if (known && isCutOff) {
        metrics.auditCutOffs.inc()
        logger.error({ head: headOf(known) }, 'sealed audit events are gone; run: authctl audit verify --head HEAD')
      }
      // The head just read may itself be one of the lost events. Forget it, so that the loss is reported once.
      known = isCutOff || position === 0 ? undefined : end
      metrics.auditSealed.inc(sealed)
      // An event is looked at once. The record of the beginning may be mended.
      refusedEvents += found.refused
      const refused = refusedEvents + found.refusedBeginnings
      metrics.auditRefused.set(refused)
      metrics.auditHead.set(position)
      if (sealed > 0) logger.info({ head: headOf(end), batch, sealed }, 'audit sealed')
      if (refused > wasRefused)
        logger.error({ refused }, 'audit events differ from what the service wrote; run: authctl audit verify')
      wasRefused = refused
      if (!former) return
      if (former.checked < former.position) sealer.wake()
      // Each start tells it once, so that it is not forgotten.
      else if (!isFormerTold) tellFormer(former)
    },
    (error) => logger.error({ err: error }, 'the audit cannot be sealed; trying again'),
  )
  const tellFormer = ({ position, faults }: FormerCheck) => {
    isFormerTold = true
    if (faults.count === 0) return
    logger.error(
      { events: position, faults: faults.count, first: faults.first },
      'the audit of a former version was not what that version wrote when it was compared; run: authctl audit verify',
    )
  }
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
