import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { lockAllUntilCommit } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { type AccountRecord, asClaimable, neverVerified, verifiedNow } from '../../lib/account-record.ts'
import { type Actor, actorIdOf } from '../../lib/caller.ts'
import { appRef, clearable, email, list, name, pool, queryFlag, roleCode } from '../../lib/fields.ts'
import { DEFAULT_POOL } from '../../lib/pool-set.ts'
import { isUuid, newId } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { Role } from '../../models/role.ts'
import { type NewUserRow, User } from '../../models/user.ts'
import { type NewGrant, UserApp } from '../../models/user-app.ts'
import { UserNamespace, type UserNamespaceRow } from '../../models/user-namespace.ts'
import { UserRole, type UserRoleRow } from '../../models/user-role.ts'
import { type AccountClaim, claimAccounts } from '../account-claims/claim-accounts.ts'
import { type NewAuditEvent, recordEvents } from '../audit/record-event.ts'
import { closeAnswered } from '../grants/close-requests.ts'
import { assignedRoles, BASE_ROLE, endAccessWithoutProof } from '../users/administration.ts'
import { listUsersByIds } from '../users/find-users.ts'
import type { ClaimableAccount } from '../users/present.ts'

const importedHash = z
  .string()
  .regex(/^\$2[aby]\$(?:0[4-9]|1[0-4])\$[./A-Za-z0-9]{53}$/, 'must be a bcrypt hash ($2a, $2b or $2y) of cost 4 to 14')

export const importLine = z
  .strictObject({
    email,
    password_hash: clearable(importedHash).meta({
      description: 'bcrypt ($2a, $2b, $2y) of cost 4 to 14. Without one, the user sets a password by a reset',
    }),
    first_name: clearable(name),
    last_name: clearable(name),
    namespace: pool.optional().meta({ description: 'Home pool. Default: `default`' }),
    tags: list(pool).optional(),
    apps: list(appRef).optional().meta({ description: 'Apps to grant, by code or UUID' }),
    roles: list(roleCode).optional().meta({ description: 'Global roles besides `base_user`' }),
    email_verified: z.boolean().optional(),
  })
  .meta({ id: 'ImportedUser' })
type ImportedUser = z.output<typeof importLine>

export const importUsersQuery = z.strictObject({
  dry_run: queryFlag.optional().meta({ description: 'Give the same answer without writing anything' }),
  claim_unverified: queryFlag
    .optional()
    .meta({ description: 'Claim unproven accounts: remove what they were registered with and apply the line as for a new user' }),
})

export const importAnswer = z
  .object({
    imported: z.int().meta({ description: 'Users created' }),
    updated: z.int().meta({ description: 'Lines that added tags, apps or roles to an existing user, or took one over' }),
    unchanged: z.int().meta({ description: 'Lines that had nothing to add' }),
    failed: z.int(),
    errors: z
      .array(z.object({ line: z.int().meta({ description: 'Counted from 1' }), code: z.string(), message: z.string() }))
      .meta({ description: 'The first 10,000 failed lines' }),
  })
  .meta({ id: 'UserImport' })
type ImportAnswer = z.output<typeof importAnswer>

/** The outcome of a line; an object is an error. */
type ImportOutcome = 'imported' | 'updated' | 'unchanged' | { code: string; message: string }

/** A user after the lines so far. */
interface PlannedUser {
  id: string
  namespace: string
  tags: Set<string>
  roles: Set<string>
  /** Apps with a grant of any state: a revoked one stays revoked. */
  appIds: Set<string>
  /** The line that makes the user. Undefined for an existing user. */
  madeFrom?: ImportedUser
  /** Set for an existing user with an unproven account. */
  unproven?: ClaimableAccount | undefined
  /** The line that took over the account. It is written like the line of a new user. */
  claimedBy?: { account: ClaimableAccount; line: ImportedUser }
  /** What lines added to an existing user. */
  added: { tags: string[]; roles: string[]; appIds: string[] }
  /** The user before the first line. */
  before: { namespaces: string[]; roles: string[] }
}

/** The users, roles and apps that lines name. `take` adds the lines one at a time. */
class ImportPlan {
  readonly #claimsUnproven: boolean

  constructor({ claimsUnproven }: { claimsUnproven: boolean }) {
    this.#claimsUnproven = claimsUnproven
  }

  readonly users = new Map<string, PlannedUser[]>()
  readonly appIds = new Map<string, string>()
  readonly roleScopes = new Map<string, string>()

  /** Checks a line against the plan so far, and adds it to the plan. */
  take(deps: Deps, line: ImportedUser): ImportOutcome {
    const { email, namespace = DEFAULT_POOL } = line
    const fault = this.#faultOf(line)
    if (fault) return fault
    const sharing = this.users.get(email) ?? []
    const known = sharing.find((user) => user.namespace === namespace)
    if (known?.unproven && !this.#claimsUnproven) return { code: 'account_unverified', message: unprovenMessage(known.id) }
    const tags = [...new Set(line.tags)].filter((tag) => tag !== namespace && !known?.tags.has(tag))
    const pools = known ? tags : [namespace, ...tags]
    const met = sharing
      .filter((user) => user !== known)
      .find((user) => pools.some((pool) => user.namespace === pool || user.tags.has(pool)))
    if (met) return { code: 'email_exists_in_pool', message: `One of the pools has another user with this e-mail: ${met.id}` }

    const appIds = [...new Set(line.apps?.flatMap((ref) => this.appIds.get(ref) ?? []))].filter((id) => !known?.appIds.has(id))
    const roles = [...new Set(line.roles)].filter((role) => !known?.roles.has(role))
    if (!known) {
      const user: PlannedUser = {
        id: newId(deps.clock()),
        namespace,
        tags: new Set(tags),
        roles: new Set([BASE_ROLE, ...roles]),
        appIds: new Set(appIds),
        madeFrom: line,
        added: { tags: [], roles: [], appIds: [] },
        before: { namespaces: [], roles: [] },
      }
      this.users.set(email, [...sharing, user])
      return 'imported'
    }
    if (known.unproven) {
      known.claimedBy = { account: known.unproven, line }
      known.unproven = undefined
    } else if (tags.length + appIds.length + roles.length === 0) return 'unchanged'
    for (const tag of tags) known.tags.add(tag)
    for (const role of roles) known.roles.add(role)
    for (const id of appIds) known.appIds.add(id)
    // `added` counts for existing users only. A user whom an earlier line made is written from the final state.
    known.added.tags.push(...tags)
    known.added.roles.push(...roles)
    known.added.appIds.push(...appIds)
    return 'updated'
  }

  #faultOf(line: ImportedUser): { code: string; message: string } | undefined {
    const faults = [
      ...(line.apps ?? []).flatMap((ref, index) => (this.appIds.has(ref) ? [] : [`apps.${index}: unknown app`])),
      ...(line.roles ?? []).flatMap((role, index) => {
        const scope = this.roleScopes.get(role)
        if (scope === 'global') return []
        return [`roles.${index}: ${scope ? 'must be a global role' : 'unknown role'}`]
      }),
    ]
    return faults.length > 0 ? { code: 'validation_failed', message: faults.join('; ').slice(0, 500) } : undefined
  }
}

function unprovenMessage(id: string): string {
  return `The account ${id} is unproven; claim_unverified=true removes what it was registered with`
}

/**
 * Loads the plan for some lines, and locks everything that they touch until the transaction ends. A rehearsal extends `rehearsed`
 * instead, which holds the changes of earlier lines.
 */
async function loadPlan(
  deps: Deps<Tx>,
  lines: readonly ImportedUser[],
  { rehearsed, claimsUnproven }: { rehearsed: ImportPlan | undefined; claimsUnproven: boolean },
): Promise<ImportPlan> {
  const plan = rehearsed ?? new ImportPlan({ claimsUnproven })
  await loadNamed(deps, lines, plan)
  const emails = [...new Set(lines.map(({ email }) => email))].filter((email) => !plan.users.has(email)).sort()
  if (!rehearsed) await lockAllUntilCommit(deps.db, 'email', emails)
  const ids = await User.listIdsByEmail(deps.db, emails)
  if (ids.length === 0) return plan
  // No user can take one of the addresses now. Users who left one before their row was locked are filtered out below.
  if (!rehearsed) await User.lockAll(deps.db, ids)
  const wanted = new Set(emails)
  const found = (await listUsersByIds(deps, ids)).filter(({ email }) => wanted.has(email))
  const roles = await UserRole.query(deps.db).whereIn('user_id', ids)
  const grants = await UserApp.listOfUsers(deps.db, ids)
  for (const user of found) {
    const own = roles.filter(({ user_id }) => user_id === user.id).map(({ role_code }) => role_code)
    const planned: PlannedUser = {
      id: user.id,
      namespace: user.namespace,
      unproven: asClaimable(user),
      tags: new Set(user.tags),
      roles: new Set(own),
      appIds: new Set(grants.filter(({ user_id }) => user_id === user.id).map(({ app_id }) => app_id)),
      added: { tags: [], roles: [], appIds: [] },
      before: { namespaces: [user.namespace, ...[...user.tags].sort()], roles: own.sort() },
    }
    plan.users.set(user.email, [...(plan.users.get(user.email) ?? []), planned])
  }
  return plan
}

/** Loads the apps and roles that lines name, and keeps them from being deleted until the transaction ends. */
async function loadNamed(deps: Deps<Tx>, lines: readonly ImportedUser[], plan: ImportPlan): Promise<void> {
  const refs = [...new Set(lines.flatMap(({ apps = [] }) => apps))]
  const apps = await App.listKeptByRefs(deps.db, { ids: refs.filter(isUuid), codes: refs })
  for (const { id, code } of apps) plan.appIds.set(id, id).set(code, id)
  const codes = [BASE_ROLE, ...lines.flatMap(({ roles = [] }) => roles)]
  const roles = await Role.listKept(deps.db, [...new Set(codes)])
  for (const { code, scope } of roles) plan.roleScopes.set(code, scope)
}

/** A line of an import as it was read. */
type ImportLine = { line: number; value: ImportedUser } | { line: number; error: { code: string; message: string } }

/** Lines that are committed together. */
const portion = 500
/** Faults beyond these are only counted. */
const mostErrors = 10_000

/**
 * Imports users with their password hashes (docs/administer/importing-users.md). A line for an existing user (namespace, e-mail)
 * only adds tags, apps and roles. A line for an unproven account fails with `account_unverified`; with `claimsUnproven` it claims
 * the account and counts as a new user. A faulty line is reported and does not stop the others. With `dryRun` nothing is written,
 * and the counts are the same.
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

/** Writes the result of a plan, in the transaction that loaded it. */
async function writePlan(deps: Deps<Tx>, plan: ImportPlan, actor: Actor): Promise<void> {
  const now = deps.clock()
  const codes = new Map([...plan.appIds].map(([ref, id]) => [id, ref]))
  const made: NewUserRow[] = []
  const tagged: UserNamespaceRow[] = []
  const assigned: UserRoleRow[] = []
  const granted: NewGrant[] = []
  const events: NewAuditEvent[] = []
  const claims: AccountClaim[] = []
  const gain = (
    id: string,
    { tags, roles, appIds }: { tags: Iterable<string>; roles: Iterable<string>; appIds: Iterable<string> },
  ) => {
    for (const namespace of tags) tagged.push({ user_id: id, namespace, created_at: now })
    for (const role_code of roles) assigned.push({ user_id: id, role_code, created_at: now })
    for (const app_id of appIds) {
      const fresh = { status: 'active', granted_via: 'import', granted_by: actorIdOf(actor), granted_at: now } as const
      granted.push({ id: newId(now), user_id: id, app_id, ...fresh })
    }
  }
  for (const [email, users] of plan.users) {
    for (const user of users) {
      const { id, added } = user
      if (user.madeFrom) {
        made.push(newRow(user, user.madeFrom, { email, now }))
        gain(id, user)
      } else if (user.claimedBy || added.tags.length + added.roles.length + added.appIds.length > 0) gain(id, added)
      else continue
      if (user.claimedBy) claims.push(claimOf(user.claimedBy, now))
      events.push({ event: 'user.imported', actor, userId: id, details: detailsOf(user, email, codes) })
      events.push(...assignedRoles(id, user.madeFrom ? user.roles : added.roles, actor))
    }
  }
  await claimAccounts(deps, claims, actor)
  await User.insertBulk(deps.db, made)
  await UserNamespace.add(deps.db, tagged)
  await UserRole.insertBulk(deps.db, assigned)
  for (const { user_id, role_code } of assigned) await endAccessWithoutProof(deps, user_id, role_code)
  await UserApp.insertBulk(deps.db, granted)
  const userIds = [...new Set(granted.map(({ user_id }) => user_id))]
  await closeAnswered(deps, { userIds, decidedBy: actorIdOf(actor) }, actor)
  await recordEvents(deps, events)
}

function claimOf({ account, line }: NonNullable<PlannedUser['claimedBy']>, now: number): AccountClaim {
  return { account, given: { ...columnsOf(line, now, account), made_by: 'import' }, appId: null }
}

/** The columns of the user's row that a line sets. */
function columnsOf({ email_verified, password_hash, first_name, last_name }: ImportedUser, now: number, account?: AccountRecord) {
  return {
    ...(email_verified ? verifiedNow(now, account) : neverVerified),
    password_hash: password_hash ?? null,
    first_name: first_name ?? null,
    last_name: last_name ?? null,
  }
}

function newRow(user: PlannedUser, line: ImportedUser, { email, now }: { email: string; now: number }): NewUserRow {
  return {
    id: user.id,
    email,
    ...columnsOf(line, now),
    locale: null,
    made_by: 'import',
    namespace: user.namespace,
    status: 'active',
    token_version: 0,
    min_token_version: 0,
    created_at: now,
    updated_at: now,
  }
}

/** The user before and after, without the password hash. */
function detailsOf(user: PlannedUser, email: string, codes: ReadonlyMap<string, string>): Record<string, unknown> {
  const pools = { namespaces: [user.namespace, ...[...user.tags].sort()], roles: [...user.roles].sort() }
  const appsOf = (ids: Iterable<string>) => [...ids].map((id) => codes.get(id) ?? id).sort()
  const line = user.madeFrom ?? user.claimedBy?.line
  if (!line) return { before: user.before, after: { ...pools, apps_added: appsOf(user.added.appIds) } }
  const { first_name = null, last_name = null, email_verified = false } = line
  if (user.claimedBy) {
    const after = { email, email_verified, first_name, last_name, ...pools, apps_added: appsOf(user.added.appIds) }
    return { before: user.before, after, claimed: true }
  }
  return { before: null, after: { email, email_verified, first_name, last_name, ...pools, apps: appsOf(user.appIds) } }
}
