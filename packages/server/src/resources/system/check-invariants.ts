import type { Deps } from '../../deps.ts'
import { listViolations } from '../../models/invariants.ts'

/** The invariants that the database violates, one line each, ending with the cure. Reads whole tables. */
export async function checkInvariants(deps: Deps): Promise<string[]> {
  const violations = await listViolations(deps.db, deps.clock())
  return violations.map(
    ({ name, count, example, fault, cure }) => `${name}: ${count}, such as ${example}: ${fault}. Cure: ${cure}`,
  )
}
