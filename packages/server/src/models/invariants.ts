import type { Db } from '../db/handle.ts'
import { adminRoles } from '../lib/authority.ts'
import { isJsonList } from '../lib/collections.ts'
import { Feed, newestPosition } from './feed.ts'
import { wrongPools } from './pool-size.ts'
import { revocationFeed } from './revocation.ts'
import { wronglyShared } from './shared-email.ts'
import { listStorageFaults, rowsIn, type Violation } from './storage-faults.ts'

/** A rule that holds in every database that only the service writes to. `rows` selects what breaks it, as one text per row. */
interface Invariant extends Pick<Violation, 'name' | 'fault' | 'cure'> {
  rows: string
}

const id = (column: string) => `cast(${column} as text)`
const living = "status <> 'deleted'"
/** Every pool that a user is in, as home or by tag. */
const pools = `(select id as user_id, namespace from users where ${living} union select user_id, namespace from user_namespaces)`

const invariants: readonly Invariant[] = [
  {
    name: 'email-shared',
    rows: `select u.email || ' in the pool ' || p.namespace as what from ${pools} p join users u on u.id = p.user_id and u.${living}
      where u.email <> '' group by u.email, p.namespace having count(*) > 1`,
    fault: 'several users in one pool have the same e-mail, and only one of them can sign in there',
    cure: 'move or untag all but one (authctl pool move, authctl pool untag), or delete them (authctl user delete)',
  },
  {
    name: 'pool-size-wrong',
    rows: wrongPools,
    fault: 'the list of pools shows another number of users than the pool has',
    cure: 'the cleanup counts again once a day, at midnight UTC',
  },
  {
    name: 'shared-email-wrong',
    rows: wronglyShared,
    fault: 'a collision of pools is not listed, or an address is kept although only one user has it',
    cure: 'the cleanup looks again once a day, at midnight UTC',
  },
  {
    name: 'user-below-floor',
    rows: `select ${id('id')} as what from users where min_token_version > token_version or min_access_version > token_version`,
    fault: 'a minimum token version of the user is above the version of new tokens, so they are all refused',
    cure: 'update users set token_version = min_token_version where token_version < min_token_version, then the same with min_access_version',
  },
  {
    name: 'proof-unverified',
    rows: `select ${id('id')} as what from users where (mailbox_proven_at is not null and email_verified_at is null)
      or (link_verified_at is not null and first_verified_at is null)`,
    fault:
      'the mailbox of the user counts as proven although the address is not verified, or a click is recorded without a verification',
    cure: 'update users set mailbox_proven_at = null, link_verified_at = null where id = ID; the user proves the mailbox with a magic link',
  },
  {
    name: 'grant-below-floor',
    rows: `select ${id('g.id')} as what from user_apps g join users u on u.id = g.user_id
      where g.min_token_version > u.token_version or g.min_access_version > u.token_version`,
    fault: 'a minimum token version of the grant is above the version of new tokens, so they are all refused',
    cure: 'update user_apps set min_token_version = 0, min_access_version = 0 where id = ID; then authctl user logout',
  },
  {
    name: 'session-above-version',
    rows: `select ${id('s.id')} as what from sessions s join users u on u.id = s.user_id
      where s.ended_at is null and s.token_version > u.token_version`,
    fault: 'the session is newer than its user, so part of the database is older than the rest',
    cure: 'authctl user logout; if there are many, gatehouse finish-restore',
  },
  {
    name: 'session-forked',
    rows: `select ${id('s.id')} as what from sessions s join refresh_tokens t on t.session_id = s.id
      where s.ended_at is null and t.used_at is null group by s.id having count(*) > 1`,
    fault: 'the session has several unused refresh tokens, so two clients can continue it',
    cure: 'authctl user logout',
  },
  {
    name: 'deleted-user-holds',
    rows: `select ${id('u.id')} as what from users u where u.status = 'deleted' and (u.deleted_at is null or u.password_hash is not null
      or exists (select 1 from user_apps where user_id = u.id and status = 'active')
      or exists (select 1 from user_roles where user_id = u.id)
      or exists (select 1 from user_namespaces where user_id = u.id)
      or exists (select 1 from organization_memberships where user_id = u.id)
      or exists (select 1 from user_identities where user_id = u.id)
      or exists (select 1 from second_factors where user_id = u.id)
      or exists (select 1 from passkeys where user_id = u.id)
      or exists (select 1 from mail_tokens where user_id = u.id and spent_at is null))`,
    fault:
      'a deleted user still has a grant, a role, a pool, a membership, an identity, a second factor, a passkey, a link or a password',
    cure: "update users set status = 'suspended', deleted_at = null where id = ID, then authctl user delete",
  },
  {
    name: 'user-without-base-role',
    rows: `select ${id('u.id')} as what from users u where u.${living}
      and not exists (select 1 from user_roles where user_id = u.id and role_code = 'base_user')`,
    fault: 'the user lacks base_user, which every user has',
    cure: "insert into user_roles (user_id, role_code, created_at) select id, 'base_user', created_at from users where id = ID",
  },
  {
    name: 'role-out-of-scope',
    rows: `select ${id('h.user_id')} || ' ' || h.role_code as what from user_roles h join roles r on r.code = h.role_code and r.scope <> 'global'
      union all
      select ${id('h.membership_id')} || ' ' || h.role_code from membership_roles h join roles r on r.code = h.role_code and r.scope <> 'org'
      union all
      select a.code || ' ' || r.code from apps a join roles r on r.code = a.default_role_code and r.scope <> 'org'`,
    fault: 'a user has an organization role, or a membership or an app has a global role',
    cure: 'authctl user role, authctl org member or authctl app update: remove the role',
  },
  {
    name: 'default-role-alone',
    rows: `select code as what from apps where default_role_code is not null and default_organization_id is null`,
    fault: 'the app has a default role but no default organization',
    cure: 'authctl app update: set the organization, or clear the role',
  },
  {
    name: 'membership-without-role',
    rows: `select ${id('m.id')} as what from organization_memberships m
      where not exists (select 1 from membership_roles where membership_id = m.id)`,
    fault: 'a member of an organization has no role in it',
    cure: 'authctl org member',
  },
  {
    name: 'recovery-codes-alone',
    rows: `select distinct ${id('c.user_id')} as what from recovery_codes c
      where not exists (select 1 from second_factors where user_id = c.user_id and activated_at is not null)`,
    fault: 'there are recovery codes for a user without a second factor',
    cure: 'delete from recovery_codes where user_id = ID',
  },
  {
    name: 'deleted-app-lives',
    rows: 'select d.code as what from deleted_apps d join apps a on a.code = d.code',
    fault: 'an app has a code that is recorded as that of a deleted app',
    cure: 'delete from deleted_apps where code = CODE',
  },
  {
    name: 'outbox-undecided',
    rows: `select ${id('id')} as what from outbox where (status = 'pending' and finished_at is not null) or (status <> 'pending' and finished_at is null)`,
    fault: 'a message is both sent and unsent',
    cure: "update outbox set status = 'pending', finished_at = null where id = ID, which sends it again; or delete it",
  },
  {
    name: 'built-in-missing',
    rows: `select code as what from (
        select 'base_user' as code, 'global' as scope union all select 'super_admin', 'global' union all ${adminRoles.map((code) => `select '${code}', 'global'`).join(' union all ')}
        union all select 'org_member', 'org' union all select 'org_admin', 'org') b
      where not exists (select 1 from roles r where r.code = b.code and r.scope = b.scope and r.built_in = 1)
      union all select 'authctl' where not exists (select 1 from apps where code = 'authctl' and built_in = 1 and status = 'active')
      union all select 'core' where not exists (select 1 from permissions where service = 'core' and pruned_at is null)
      union all select 'the generation of the catalog' where not exists (select 1 from generations where name = 'catalog')
      union all select 'a task of the day' where not exists (select 1 from daily_tasks where name = 'recount_pools')
      union all select 'the row of the service' where (select count(*) from service) <> 1`,
    fault: 'something built in is missing or was changed',
    cure: 'restore an earlier backup; or copy the row from a new database that `gatehouse migrate` creates',
  },
]

const floorsAhead = `select code as what from apps where min_iat > :latest union all select 'all apps' from service where min_iat > :latest`
/** The service itself sets an earliest time of issue at most a few seconds ahead. */
const mostAheadSeconds = 3_600

/** Tables and columns that hold a list as JSON. */
const lists: Readonly<Record<string, readonly string[]>> = {
  apps: [
    ...(['allowed_redirect_urls', 'service_codes', 'read_namespaces', 'linked_app_codes', 'override_role_codes'] as const),
    ...(['allowed_email_domains', 'allowed_auth_methods', 'webhooks'] as const),
  ],
  deleted_apps: ['keys'],
  invitations: ['role_codes'],
  service_accounts: ['scopes'],
  sso_providers: ['app_codes', 'trusted_email_domains'],
}

/** Everything that breaks a rule. Reads whole tables. */
export async function listViolations(db: Db, now: number): Promise<Violation[]> {
  const latest = Math.floor(now / 1000) + mostAheadSeconds
  const found: Violation[] = []
  for (const { rows, ...told } of invariants) found.push(...(await violationOf(db, told, rows)))
  const ahead = {
    name: 'floor-ahead',
    fault: 'the earliest time of issue of tokens is in the future, so backends refuse every new token of the app',
    cure: 'update apps (or service) set min_iat = 0, and rotate JWT_ACCESS_SECRET if older tokens must be invalidated',
  }
  found.push(...(await violationOf(db, ahead, floorsAhead, { latest })))
  return [...found, ...(await listCursorFaults(db)), ...(await listBrokenLists(db)), ...(await listStorageFaults(db))]
}

async function violationOf(
  db: Db,
  told: Omit<Violation, 'count' | 'example'>,
  rows: string,
  values: Readonly<Record<string, number>> = {},
): Promise<Violation[]> {
  const query = db.raw(`select count(*) as count, min(what) as example from (${rows}) as broken`, values)
  const [row] = await rowsIn<{ count: number; example: string | null }>(query)
  return row && row.count > 0 ? [{ ...told, count: row.count, example: String(row.example) }] : []
}

/** A fault if the next revocation would come to be below one that consumers have passed. */
async function listCursorFaults(db: Db): Promise<Violation[]> {
  const newest = await newestPosition(db, revocationFeed)
  const { cursors, snapshot } = await Feed.getState(db, revocationFeed)
  const most = Math.max(newest, cursors.origin.position - 1)
  if (most < snapshot.xmax) return []
  const fault = 'the revocations are of another database, or their sequence is behind them, so consumers miss the next ones'
  return [{ name: 'cursor-behind', count: 1, example: `${snapshot.xmax} <= ${most}`, fault, cure: 'gatehouse finish-restore' }]
}

async function listBrokenLists(db: Db): Promise<Violation[]> {
  const found: Violation[] = []
  for (const [table, columns] of Object.entries(lists)) {
    const rows: Record<string, string>[] = await db(table).select([...columns])
    for (const column of columns) {
      const broken = rows.map((row) => row[column] ?? '').filter((text) => !isJsonList(text))
      const fault = `${table}.${column} does not contain a list, so the row cannot be read`
      const cure = `update ${table} set ${column} = '[]' for these rows, then set the former value`
      const [example] = broken
      if (example !== undefined)
        found.push({ name: 'list-broken', count: broken.length, example: example.slice(0, 40), fault, cure })
    }
  }
  return found
}
