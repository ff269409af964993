import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { type AccountRecord, neverVerified, verifiedNow } from '../../lib/account-record.ts'
import { type Actor, actorIdOf } from '../../lib/caller.ts'
import { newId } from '../../lib/uuid.ts'
import { type NewUserRow, User } from '../../models/user.ts'
import { type NewGrant, UserApp } from '../../models/user-app.ts'
import { UserNamespace, type UserNamespaceRow } from '../../models/user-namespace.ts'
import { UserRole, type UserRoleRow } from '../../models/user-role.ts'
import { type AccountClaim, claimAccounts } from '../account-claims/claim-accounts.ts'
import { type NewAuditEvent, recordEvents } from '../audit/record-event.ts'
import { closeAnswered } from '../grants/close-requests.ts'
import { assignedRoles } from '../users/global-roles.ts'
import type { ImportPlan, PlannedUser } from './import-plan.ts'
import type { ImportedUser } from './schema.ts'

/** Writes the result of a plan, in the transaction that loaded it. */
export async function writePlan(deps: Deps<Tx>, plan: ImportPlan, actor: Actor): Promise<void> {
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
  await UserNamespace.insertBulk(deps.db, tagged)
  await UserRole.insertBulk(deps.db, assigned)
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
