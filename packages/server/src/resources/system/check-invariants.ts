import type { Deps } from '../../deps.ts'
import { listViolations } from '../../models/invariants.ts'

/** What the service relies on and does not find in the database, a line each that ends with its cure. Reads whole tables. */
export async function checkInvariants(deps: Deps): Promise<string[]> {
  const violations = await listViolations(deps.db, deps.clock())
  return violations.map(
    ({ name, count, example, fault, cure }) => `${name}: ${count}, such as ${example}: ${fault}. Cure: ${cure}`,
  )
}
