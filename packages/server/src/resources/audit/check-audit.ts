import type { Deps } from '../../deps.ts'
import type { AuditFault } from './present.ts'
import { verifyAudit } from './verify-audit.ts'

/** Compares the whole audit log with its proofs, and returns the first fault. */
export async function checkAudit(deps: Deps): Promise<AuditFault | null> {
  let cursor: string | undefined
  for (;;) {
    const { fault, next_cursor } = await verifyAudit(deps, { cursor })
    if (fault || next_cursor === null) return fault
    cursor = next_cursor
  }
}
