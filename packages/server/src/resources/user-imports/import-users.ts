import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { ImportPlan, loadPlan } from './import-plan.ts'
import type { ImportAnswer, ImportedUser } from './schema.ts'
import { writePlan } from './write-plan.ts'

/** A line of an import as it was read. */
export type ImportLine = { line: number; value: ImportedUser } | { line: number; error: { code: string; message: string } }

/** Lines that are committed together. */
const portion = 500
/** Faults beyond these are only counted. */
const mostErrors = 10_000

/**
 * Imports users with their password hashes (docs/administer/importing-users.md). A line for an existing user (namespace, e-mail) only adds
 * tags, apps and roles. A line for an unproven account fails with `account_unverified`; with `claimsUnproven` it claims the
 * account and counts as a new user. A faulty line is reported and does not stop the others. With `dryRun` nothing is written, and
 * the counts are the same.
 */
export async function importUsers(
  deps: Deps<Pool>,
  lines: Iterable<ImportLine, void, undefined>,
  { dryRun, claimsUnproven }: { dryRun: boolean; claimsUnproven: boolean },
  actor: Actor,
): Promise<ImportAnswer> {
  const answer: ImportAnswer = { imported: 0, updated: 0, unchanged: 0, failed: 0, errors: [] }
  const rehearsed = dryRun ? new ImportPlan({ claimsUnproven }) : undefined
  for (const batch of inPortions(lines)) {
    const values = batch.flatMap((each) => ('value' in each ? [each.value] : []))
    const outcomes = await transaction(deps, async (deps) => {
      const plan = await loadPlan(deps, values, { rehearsed, claimsUnproven })
      const outcomes = batch.map((each) => ({
        line: each.line,
        outcome: 'value' in each ? plan.take(deps, each.value) : each.error,
      }))
      if (!dryRun) await writePlan(deps, plan, actor)
      return outcomes
    })
    for (const { line, outcome } of outcomes) {
      if (typeof outcome === 'string') answer[outcome] += 1
      else {
        answer.failed += 1
        const { code, message } = outcome
        if (answer.errors.length < mostErrors) answer.errors.push({ line, code, message })
      }
    }
    // Lets other requests run, even if all of these lines were bad.
    await nextTurn()
  }
  return answer
}

function* inPortions<T>(entries: Iterable<T, void, undefined>): Generator<T[], void, undefined> {
  let batch: T[] = []
  for (const entry of entries) {
    batch.push(entry)
    if (batch.length < portion) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
