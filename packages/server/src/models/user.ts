import type { QueryBuilder } from 'objection'
import { idsWhereIn, insertRows } from '../db/bulk.ts'
import { type Db, isPostgres, type Tx } from '../db/handle.ts'
import { forUpdate, keptFromDeletion } from '../db/locks.ts'
import { Statement } from '../db/statement.ts'
import type { AccountRecord, MadeBy } from '../lib/account-record.ts'
import { SYSTEM_ADMIN } from '../lib/authority.ts'
import { chunksOf, only } from '../lib/collections.ts'
import { type PageRequest, pageOf, rowsToRead } from '../lib/keyset.ts'
import { type AuditEventRow, assertStored, newEvent, newEventFor } from './audit-event.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { catalogGeneration } from './generation.ts'
import { pageOrder, whereFound } from './list-query.ts'
import type { Organization } from './organization.ts'
import { PoolSize } from './pool-size.ts'
import { type FactorRow, factorColumns, hasFactorColumn } from './second-factor.ts'
import { SharedEmail } from './shared-email.ts'
import { UserApp } from './user-app.ts'
import { type ToldChanges, UserChange } from './user-change.ts'
import { UserNamespace } from './user-namespace.ts'
import { globalRolesColumn, UserRole } from './user-role.ts'

/** The columns of `users u` that an answer shows, for use in a statement. */
export const shownUserColumns = `u.id, u.email, u.email_verified_at, u.first_name, u.last_name, u.locale, u.namespace, u.status, u.created_at,
  (select string_agg(namespace, ' ') from user_namespaces where user_id = u.id) as tags`
/** The columns of `users u` that the rest of the code passes around. */
export const userColumns = `${shownUserColumns}, u.first_verified_at, u.link_verified_at, u.mailbox_proven_at, u.made_by,
  u.password_hash, u.token_version, u.min_token_version`

/** What `shownUserColumns` gives. The tags are one text, separated by spaces, which names of pools do not contain. */
export type ShownUserRow = Pick<
  User,
  'id' | 'email' | 'email_verified_at' | 'first_name' | 'last_name' | 'locale' | 'namespace' | 'status' | 'created_at'
> & { tags: string | null }

/** What `userColumns` gives. */
export type UserRow = ShownUserRow & Pick<User, keyof AccountRecord | 'password_hash' | 'token_version' | 'min_token_version'>

export type NewUserRow = Omit<UserRow, 'tags'> & Pick<User, 'updated_at'>

/** What an update may change. What apps learn of has a time. */
export type UserChanges = Partial<Omit<NewUserRow, 'id' | 'created_at' | keyof ToldChanges> & Pick<User, 'deleted_at'>> &
  (ToldChanges | ({ [column in Exclude<keyof ToldChanges, 'updated_at'>]?: never } & { updated_at?: number }))

/** A user as a login reads it. */
interface LoginRow extends UserRow {
  /** The active second factor. */
  factor: FactorRow | null
}

/** Whether another user has the same e-mail, in whatever pool. */
export const hasNamesake = `exists (select 1 from users o where o.email = u.email and o.id <> u.id and o.status <> 'deleted') as has_namesake`

/** Columns of a statement over `users u` with `user_apps g` joined for the app that is entered. */
export const rolesAndGrantColumns = `g.status as grant_status, g.expires_at as grant_expires_at, ${globalRolesColumn}, ${catalogGeneration}`

export interface RolesAndGrantRow {
  global_roles: string | null
  grant_status: UserApp['status'] | null
  grant_expires_at: number | null
  catalog_generation: string
}

const noticingSignIn = new Statement(`
  update users set new_sign_in_mailed_at = :now
  where id = :id and (new_sign_in_mailed_at is null or new_sign_in_mailed_at <= :before)
    and (exists (select 1 from sessions s where s.user_id = users.id)
      or exists (select 1 from browser_sessions b where b.user_id = users.id))`)
const userById = new Statement<UserRow>(`select ${userColumns} from users u where u.id = :id`)

/** A user whose row is locked. Only columns of the row itself: others could be older than the lock. */
export type LockedUser = Pick<User, (typeof lockedColumns)[number] | keyof AccountRecord>
const lockedColumns = ['id', 'email', 'email_verified_at', 'status', 'token_version', 'locale'] as const
const locked = `select ${lockedColumns.join(', ')}, first_verified_at, link_verified_at, mailbox_proven_at, made_by from users where id = :id`
const lockedById = new Statement<LockedUser>(`${locked} for update`, [locked])

/** If no user has the e-mail, one row without a user: the generation is needed all the same, and one statement suffices. */
const usersByEmail = new Statement<{ catalog_generation: string } & (LoginColumns | { [column in keyof LoginColumns]: null })>(`
  select c.generation as catalog_generation, ${userColumns}, ${factorColumns}
  from generations c
  left join users u on u.email = :email and u.status <> 'deleted'
  left join second_factors f on f.user_id = u.id and f.activated_at is not null
  where c.name = 'catalog' order by u.id`)
type LoginColumns = UserRow & (FactorRow | { [column in keyof FactorRow]: null })

const rolesAndGrantByUser = new Statement<RolesAndGrantRow & { has_factor: number | boolean; app_floor: number | null }>(`
  select ${rolesAndGrantColumns}, ${hasFactorColumn}, g.min_token_version as app_floor
  from users u left join user_apps g on g.user_id = u.id and g.app_id = :appId
  where u.id = :userId`)

const membershipsWhere = (condition: string) =>
  new Statement<Pick<Organization, 'id' | 'slug' | 'name'> & { role_code: string | null }>(`
    select o.id, o.slug, o.name, r.role_code from organization_memberships m
    join organizations o on o.id = m.organization_id
    left join membership_roles r on r.membership_id = m.id
    where ${condition} order by o.slug, r.role_code`)
const memberships = membershipsWhere('m.user_id = :userId')
const membershipIn = membershipsWhere('m.user_id = :userId and o.id = :organizationId')

/** What the exchange of a code reads of its user. */
interface EntrantRow extends UserRow, RolesAndGrantRow {
  factor_activated_at: number | null
  has_namesake: number | boolean
  app_floor: number | null
}
const entrantById = new Statement<EntrantRow>(`
  select ${userColumns}, ${rolesAndGrantColumns}, f.activated_at as factor_activated_at, ${hasNamesake}, g.min_token_version as app_floor
  from users u
  left join user_apps g on g.user_id = u.id and g.app_id = :appId
  left join second_factors f on f.user_id = u.id and f.activated_at is not null
  where u.id = :userId and u.status <> 'deleted'`)

const insertedColumns = [
  ...(['id', 'email', 'email_verified_at', 'first_verified_at', 'link_verified_at', 'mailbox_proven_at', 'made_by'] as const),
  ...(['password_hash', 'first_name', 'last_name', 'locale', 'namespace', 'status', 'token_version'] as const),
  ...(['min_token_version', 'created_at', 'updated_at'] as const satisfies (keyof NewUserRow)[]),
]
/** The columns of the event that records the user have two of the same names. */
const placeholderOf = (column: string) => (column === 'id' || column === 'email' ? `:made_${column}` : `:${column}`)
const insertedUser = `insert into users (${insertedColumns.join(', ')}) values (${insertedColumns.map(placeholderOf).join(', ')})`
const insertedRoles = (roles: string) =>
  `insert into user_roles (user_id, role_code, created_at) select :made_id, value, :created_at from ${roles}`
// These two may insert nothing. SQLite takes one that begins with `insert` for a row that a trigger dropped.
const insertedTags = (tags: string) => `with listed as (select value from ${tags})
  insert into user_namespaces (user_id, namespace, created_at) select :made_id, value, :created_at from listed`
const sharedNow = `with other as (select 1 from users where email = :made_email and status <> 'deleted' and id <> :made_id limit 1)
  insert into shared_emails (email) select cast(:made_email as text) from other where true on conflict do nothing`
const grownPools = (tags: string, one = '1') => `insert into pool_changes (namespace, homes, tagged)
  select cast(:namespace as text), ${one}, 0 union all select value, 0, 1 from ${tags}`
const listedOnPostgres = (list: string) => `json_array_elements_text(cast(${list} as json)) as given(value)`
const ofUser = `roles as (${insertedRoles(listedOnPostgres(':roles'))}), tags as (${insertedTags(listedOnPostgres(':tags'))}),
  shared as (${sharedNow})`
const parts = [insertedRoles('json_each(:roles)'), insertedTags('json_each(:tags)'), sharedNow, grownPools('json_each(:tags)')]
const newUser = new Statement(`with made as (${insertedUser}), ${ofUser} ${grownPools(listedOnPostgres(':tags'))}`, [
  insertedUser,
  ...parts,
])
/** On Postgres it fails, by a division by zero, where a trigger drops the event. */
const newRecordedUser = new Statement(
  `with made as (${insertedUser} returning id), recorded as (${newEventFor('made')} returning id), ${ofUser}
  ${grownPools(listedOnPostgres(':tags'), '1 / (select count(*) from recorded)')}`,
  [newEvent, insertedUser, ...parts],
)

/** Above every id. */
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** The users who can enter an app: `:isBuiltIn` tells that holders of system_admin do without a grant. */
const entrants = `
  select user_id from user_apps where app_id = :appId and status = 'active' and (expires_at is null or expires_at > :now)
  union select user_id from user_roles where role_code = '${SYSTEM_ADMIN}' and :isBuiltIn = 1`

/**
 * Those of them who own neither a second factor nor a passkey that works. `:isOfAdmins` narrows to those with a role besides the
 * base role.
 */
const withoutFactor = new Statement<{ id: string; email: string; namespace: string; global_roles: string | null }>(`
  select u.id, u.email, u.namespace, ${globalRolesColumn} from users u
  where u.id in (${entrants}) and u.status = 'active' and u.id < :cursor
    and not exists (select 1 from second_factors f where f.user_id = u.id and f.activated_at is not null)
    and not exists (select 1 from passkeys p where p.user_id = u.id and p.rp_id = :rpId)
    and (:isOfAdmins = 0 or exists (select 1 from user_roles r where r.user_id = u.id and r.role_code <> 'base_user'))
  order by u.id desc limit :rows`)

export interface UserFilters extends PageRequest {
  status?: User['status'] | undefined
  email?: string | undefined
  /** Only users who have an active grant for the app at `now`. */
  appId?: string | undefined
  role?: string | undefined
  q?: string | undefined
  /** Only users who are at home in a pool, or only others who are tagged with it. */
  pool?: { name: string; as: 'home' | 'tag' } | undefined
}

/** A user. `namespace` is the home pool. */
export class User extends BaseModel {
  static override tableName = 'users'
  static override relationMappings = () => ({
    tags: {
      relation: BaseModel.HasManyRelation,
      modelClass: UserNamespace,
      join: { from: 'users.id', to: 'user_namespaces.user_id' },
    },
    grants: {
      relation: BaseModel.HasManyRelation,
      modelClass: UserApp,
      join: { from: 'users.id', to: 'user_apps.user_id' },
    },
    roles: {
      relation: BaseModel.HasManyRelation,
      modelClass: UserRole,
      join: { from: 'users.id', to: 'user_roles.user_id' },
    },
  })

  declare id: string
  declare email: string
  declare email_verified_at: number | null
  declare first_verified_at: number | null
  declare link_verified_at: number | null
  declare mailbox_proven_at: number | null
  declare made_by: MadeBy
  declare password_hash: string | null
  declare first_name: string | null
  declare last_name: string | null
  /** A BCP 47 tag. */
  declare locale: string | null
  declare namespace: string
  declare status: 'active' | 'suspended' | 'deleted'
  declare token_version: number
  /** When the user was last notified of a sign-in in a browser that was not known. */
  declare new_sign_in_mailed_at: number | null
  /** The minimum token version for sessions: sessions that began below it, and their tokens, are dead. */
  declare min_token_version: number
  /** The minimum token version for access tokens: tokens below it are dead, sessions live on. */
  declare min_access_version: number
  declare deleted_at: number | null
  declare created_at: number
  declare updated_at: number
  declare tags?: UserNamespace[]
  declare grants?: UserApp[]

  /** What a change leads to is written with it, by `add`, `change` and `erase`. */
  declare static insert: never
  declare static update: never
  declare static remove: never

  /** A page of the users who can enter an app and own neither a second factor nor a passkey of the host, newest first. */
  static async listWithoutSecondFactor(
    db: Db,
    of: { appId: string; isBuiltIn: boolean; isOfAdmins: boolean; rpId: string; now: number },
    request: PageRequest,
  ) {
    const { appId, rpId, now } = of
    const flags = { isBuiltIn: of.isBuiltIn ? 1 : 0, isOfAdmins: of.isOfAdmins ? 1 : 0 }
    const bounds = { cursor: request.cursor ?? lastId, rows: rowsToRead(request) }
    return pageOf(await withoutFactor.all(db, { appId, rpId, now, ...flags, ...bounds }), request, ({ id }) => id)
  }

  /** Of any status. */
  static async findById(db: Db, id: string): Promise<UserRow | undefined> {
    return userById.first(db, { id })
  }

  /** All users with an e-mail who are not deleted, in any pool, and the generation of the catalog at that moment. */
  static async listByEmail(db: Db, email: string): Promise<{ users: LoginRow[]; catalogGeneration: string }> {
    const rows = await usersByEmail.all(db, { email })
    const users = rows.flatMap((row) => (row.id === null ? [] : [{ ...row, factor: factorIn(row) }]))
    return { users, catalogGeneration: only(rows).catalog_generation }
  }

  /** The users with these ids who are not deleted, sorted by id. */
  static async listByIds(db: Db, ids: readonly string[]): Promise<UserRow[]> {
    return db('users as u').whereIn('u.id', ids).whereRaw("u.status <> 'deleted'").orderBy('u.id').select(db.raw(userColumns))
  }

  /** The e-mails and home pools of the users with these ids. Skips unknown and deleted users. */
  static async listNames(db: Db, ids: readonly string[]): Promise<Pick<User, 'id' | 'email' | 'namespace'>[]> {
    return ids.length === 0
      ? []
      : rowsOf(User, db).whereIn('id', ids).whereNot('status', 'deleted').select('id', 'email', 'namespace')
  }

  /** Those of the users with these ids who have an active grant for the app at `now`, as the app may know them. */
  static async listOfApp(
    db: Db,
    { appId, ids, now }: { appId: string; ids: readonly string[]; now: number },
  ): Promise<Pick<User, 'id' | 'email' | 'first_name' | 'last_name'>[]> {
    const found = []
    for (const chunk of chunksOf(ids))
      found.push(
        ...(await db('users as u')
          .join('user_apps as g', 'g.user_id', 'u.id')
          .whereIn('u.id', chunk)
          .where({ 'g.app_id': appId, 'g.status': 'active' })
          .where((any) => any.whereNull('g.expires_at').orWhere('g.expires_at', '>', now))
          .whereRaw("u.status <> 'deleted'")
          .select('u.id', 'u.email', 'u.first_name', 'u.last_name')),
      )
    return found
  }

  /** Active users who hold a global role. */
  static async listActiveHolders(db: Db, role: string): Promise<UserRow[]> {
    return db('users as u')
      .join('user_roles as r', 'r.user_id', 'u.id')
      .where({ 'r.role_code': role, 'u.status': 'active' })
      .select(db.raw(userColumns))
  }

  /** What the gate needs to know about a user, with or without an app. */
  static async findRolesAndGrant(db: Db, userId: string, appId: string | null) {
    return rolesAndGrantByUser.first(db, { appId, userId })
  }

  /** The organizations of a user, or only one, sorted by slug: one row for each role held there, or one row without a role. */
  static async listMemberships(db: Db, userId: string, organizationId?: string) {
    return organizationId === undefined ? memberships.all(db, { userId }) : membershipIn.all(db, { userId, organizationId })
  }

  /** A user who is not deleted, with what the gate of an app needs to know about them. */
  static async findEntrant(db: Db, userId: string, appId: string): Promise<EntrantRow | undefined> {
    return entrantById.first(db, { userId, appId })
  }

  /**
   * Waits until no other transaction has the row locked `for update`, and keeps it so until this one ends. On SQLite there is
   * only one writer, which waits anyway.
   */
  static async keep(db: Tx, id: string): Promise<void> {
    if (isPostgres(db)) await keptFromDeletion(db, rowsOf(User, db).where({ id }).first('id'))
  }

  /** Locks the rows of users, of any status, in the order of their ids, until the transaction ends. */
  static async lockAll(db: Tx, ids: readonly string[]): Promise<void> {
    await forUpdate(db, rowsOf(User, db).whereIn('id', ids).orderBy('id').select('id'))
  }

  /** A user who is not deleted, locked until the transaction ends. */
  static async findForUpdate(db: Tx, id: string): Promise<LockedUser | undefined> {
    const user = await lockedById.first(db, { id })
    return user?.status === 'deleted' ? undefined : user
  }

  /**
   * Inserts a user with pool tags and global roles, and notes what pools and shared addresses gain. Also stores the event, if any.
   */
  static async add(
    db: Tx,
    { id: made_id, email: made_email, ...row }: NewUserRow,
    { tags, roles }: Record<'tags' | 'roles', readonly string[]>,
    event?: AuditEventRow,
  ): Promise<void> {
    const values = { ...row, made_id, made_email, tags: JSON.stringify(tags), roles: JSON.stringify(roles) }
    if (event) assertStored(1, Math.min(1, await newRecordedUser.run(db, { ...event, ...values })))
    else await newUser.run(db, values)
  }

  /** Inserts any number of users. */
  static async insertBulk(db: Tx, rows: readonly NewUserRow[]): Promise<void> {
    await insertRows(db, User.tableName, rows)
    await noteNew(db, rows)
  }

  static async change(db: Tx, id: string, changes: UserChanges): Promise<void> {
    await UserChange.writeBefore(db, id, changes)
    const isGone = changes.status === 'deleted'
    const moves = isGone || changes.email !== undefined || changes.namespace !== undefined
    const living = rowsOf(User, db).where({ id }).whereNot({ status: 'deleted' })
    const before = moves ? await living.first('email', 'namespace') : undefined
    await rowsOf(User, db).where({ id }).update(changes)
    if (before) await noteMove(db, before, isGone ? undefined : { ...before, ...changes })
  }

  /** Replaces the hash that was read. False if it has changed since. */
  static async replaceHash(db: Tx, { id, password_hash }: Pick<User, 'id' | 'password_hash'>, newHash: string): Promise<boolean> {
    return (await rowsOf(User, db).where({ id, password_hash }).update({ password_hash: newHash })) > 0
  }

  /** Notes a sign-in that a mail will report: once a day, and never the first one. False if no mail is due. */
  static async noteNewSignIn(db: Tx, id: string, now: number): Promise<boolean> {
    return (await noticingSignIn.run(db, { id, now, before: now - 86_400_000 })) > 0
  }

  /** Raises the token versions of these users, with `ofAllApps` the minimums for sessions too, and returns them. */
  static async raiseTokenVersions(
    db: Tx,
    ids: readonly string[],
    { ofAllApps }: { ofAllApps: boolean },
  ): Promise<Pick<User, 'id' | 'token_version'>[]> {
    const next = db.raw('token_version + 1')
    return rowsOf(User, db)
      .whereIn('id', ids)
      .update({ token_version: next, ...(ofAllApps && { min_token_version: next }) })
      .returning(['id', 'token_version'])
  }

  /** Blanks what tells who a user was. False if it is blank already. */
  static async erase(db: Tx, id: string, now: number): Promise<boolean> {
    const blanked = {
      email: '',
      email_verified_at: null,
      mailbox_proven_at: null,
      first_name: null,
      last_name: null,
      locale: null,
      updated_at: now,
    }
    return (await rowsOf(User, db).where({ id }).whereNot({ email: '' }).update(blanked)) > 0
  }

  /** The ids of the users with these e-mails who are not deleted. Looks up each e-mail separately. */
  static async listIdsByEmail(db: Db, emails: readonly string[]): Promise<string[]> {
    return idsWhereIn(db, User.tableName, 'email', emails, "status <> 'deleted'")
  }

  /** One page of users, newest first. You can combine the filters. Deleted users are included only if `status` asks for them. */
  static async listPage(db: Db, filters: UserFilters, now: number): Promise<UserRow[]> {
    const { status, email, appId, role, q, cursor, pool } = filters
    const query = User.query(db).alias('u').select(db.raw(userColumns))
    // The id column of the index that leads to the users.
    let leading = 'u.id'
    if (pool) leading = whereInPool(query, pool)
    // Literals, since SQLite does not use a partial index for a bound value.
    if (status !== 'deleted') query.whereRaw("u.status <> 'deleted'")
    if (status !== undefined) query.where('u.status', status)
    if (status !== undefined && status !== 'active') query.whereRaw("u.status <> 'active'")
    if (email) query.where('u.email', email)
    if (appId !== undefined) {
      query.joinRelated('grants').where({ 'grants.app_id': appId, 'grants.status': 'active' })
      query.where((any) => any.whereNull('grants.expires_at').orWhere('grants.expires_at', '>', now))
      leading = 'grants.user_id'
    }
    if (role !== undefined) {
      query.joinRelated('roles').where('roles.role_code', role)
      leading = 'roles.user_id'
    }
    // Postgres does not infer from the bound on one id that it applies to the other.
    if (cursor !== undefined && leading !== 'u.id') query.where('u.id', '<', cursor)
    if (q) await whereFound(query, { table: 'users', alias: 'u', columns: ['email', 'first_name', 'last_name'] }, q)
    // Plain rows, since making models of them would take half of the time.
    return pageOrder(query, filters, leading).toKnexQuery<UserRow>()
  }
}

type Place = Pick<User, 'email' | 'namespace'>

async function noteNew(db: Tx, places: readonly Place[]): Promise<void> {
  await PoolSize.note(
    db,
    places.map(({ namespace }) => ({ namespace, homes: 1 })),
  )
  await SharedEmail.add(
    db,
    places.map(({ email }) => email),
  )
}

/** Notes where a user was, and is now unless deleted. */
async function noteMove(db: Tx, before: Place, after: Place | undefined): Promise<void> {
  const arrived = after ? [{ namespace: after.namespace, homes: 1 }] : []
  await PoolSize.note(db, [{ namespace: before.namespace, homes: -1 }, ...arrived])
  if (before.email === after?.email) return
  await SharedEmail.removeUnlessShared(db, before.email)
  if (after) await SharedEmail.add(db, [after.email])
}

/** Narrows a query to a pool; returns the id in the index that leads to its users. */
function whereInPool(query: QueryBuilder<User>, { name, as }: NonNullable<UserFilters['pool']>): string {
  if (as === 'home') {
    query.where('u.namespace', name)
    return 'u.id'
  }
  query.joinRelated('tags').where('tags.namespace', name).whereNot('u.namespace', name)
  return 'tags.user_id'
}

function factorIn({ user_id, totp_box, activated_at, last_step }: LoginColumns): FactorRow | null {
  return user_id === null ? null : { user_id, totp_box, activated_at, last_step }
}
