import type { Tx } from '../../db/handle.ts'
import { lockAllUntilCommit } from '../../db/locks.ts'
import type { Deps } from '../../deps.ts'
import { asClaimable } from '../../lib/account-record.ts'
import { DEFAULT_POOL } from '../../lib/pool-set.ts'
import { isUuid, newId } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { Role } from '../../models/role.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { UserRole } from '../../models/user-role.ts'
import { listUsersByIds } from '../users/find-user-in-pools.ts'
import { BASE_ROLE } from '../users/global-roles.ts'
import type { ClaimableAccount } from '../users/present.ts'
import type { ImportedUser } from './schema.ts'

/** The outcome of a line; an object is an error. */
export type ImportOutcome = 'imported' | 'updated' | 'unchanged' | { code: string; message: string }

/** A user after the lines so far. */
export interface PlannedUser {
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
  /** The line that claimed the account. It is written like the line of a new user. */
  claimedBy?: { account: ClaimableAccount; line: ImportedUser }
  /** What lines added to an existing user. */
  added: { tags: string[]; roles: string[]; appIds: string[] }
  /** The user before the first line. */
  before: { namespaces: string[]; roles: string[] }
}

/** The users, roles and apps that lines name. `take` adds the lines one at a time. */
export class ImportPlan {
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
export async function loadPlan(
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
  const roles = await UserRole.listOfUsers(deps.db, ids)
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
  const roles = await Role.listKeptInOrder(deps.db, [...new Set(codes)])
  for (const { code, scope } of roles) plan.roleScopes.set(code, scope)
}
