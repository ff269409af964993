import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError, refuseChanged } from '../../errors.ts'
import { type MadeBy, madeBys, neverVerified, unverified, verifiedNow } from '../../lib/account-record.ts'
import type { Actor } from '../../lib/caller.ts'
import {
  appRef,
  clearable,
  email,
  id,
  indexedSearchQuery,
  list,
  locale,
  name,
  page,
  pageQuery,
  password,
  pool,
  roleCode,
  timestamp,
} from '../../lib/fields.ts'
import { hashLineOf } from '../../lib/hash-line.ts'
import { type Page, pageOf } from '../../lib/keyset.ts'
import { addressKeys, secondFactorKey } from '../../lib/lock-keys.ts'
import { passwordFault } from '../../lib/password.ts'
import { DEFAULT_POOL } from '../../lib/pool-set.ts'
import { grantState, grantStateAt, identityRecord, organizationRecord, shownLocale, userRecord } from '../../lib/records.ts'
import { changedMembers, type SentBack } from '../../lib/sent-back.ts'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import { newId } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { withPage } from '../../models/list-query.ts'
import { Lockout } from '../../models/lockout.ts'
import { Passkey } from '../../models/passkey.ts'
import { Role } from '../../models/role.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { Session } from '../../models/session.ts'
import { type LockedUser, User, type UserFilters, type UserRow } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { UserIdentity } from '../../models/user-identity.ts'
import { eventRow, type NewAuditEvent, recordEvent, recordEvents } from '../audit/record-event.ts'
import { unknownApp, unknownRole } from '../names/unknown-name.ts'
import { endAllTokens, raiseAccessFloor } from '../revocations/end-tokens.ts'
import { assertAdministrableWithout, assignedRoles, listGlobalRoles, resolveGlobalRoles } from './administration.ts'
import { assertEmailFree, listMemberships } from './find-users.ts'
import { type PooledUser, presentUser, type ShownUser, userOf } from './present.ts'

/** What an admin sees of one user. */
export const userDetail = userRecord
  .extend({
    apps: z.array(
      z.object({
        app_id: id,
        app_code: z.string(),
        status: z.enum(['active', 'revoked']),
        effective: grantState,
        expires_at: timestamp.nullable(),
      }),
    ),
    locale: shownLocale,
    roles: z.array(z.string()),
    organizations: z.array(organizationRecord),
    two_factor: z.boolean().meta({ description: 'Whether a second factor is active' }),
    passkeys: z.int().meta({ description: 'The number of passkeys' }),
    identities: z.array(identityRecord).meta({ description: 'Accounts at providers that the user can sign in with' }),
    locked_until: timestamp.nullable().meta({
      description: 'When the lock after wrong passwords or codes ends. Null if not locked. A known device may have its own lock',
    }),
    last_login_at: timestamp
      .nullable()
      .meta({ description: 'When the newest session began. Null if never, or if longer ago than sessions are kept' }),
    made_by: z.enum(madeBys).meta({ description: 'How the account was created' }),
  })
  .meta({ id: 'UserDetail' })

export const userPage = page(userRecord)

export const listUsersQuery = z.strictObject({
  ...pageQuery,
  email: email.optional(),
  namespace: pool.optional().meta({ description: 'Home pool or pool tag' }),
  app: appRef.optional().meta({ description: 'UUID or code of an app that the user may enter' }),
  role: roleCode.optional(),
  status: userRecord.shape.status.optional(),
  q: indexedSearchQuery,
})
type ListUsersRequest = z.output<typeof listUsersQuery>

const ownFields = { first_name: clearable(name), last_name: clearable(name), locale: clearable(locale) }

export const createUserBody = z
  .strictObject({
    email,
    password: password
      .optional()
      .meta({ description: 'At least 8 characters, at most 1,024 bytes. Without one, the user sets it by a reset' }),
    ...ownFields,
    namespace: pool.optional().meta({ description: 'Home pool. Default: `default`' }),
    tags: list(pool).optional().meta({ description: 'Pool tags' }),
    email_verified: z.boolean().optional(),
    roles: list(roleCode).optional().meta({ description: 'Global roles besides `base_user`, which every user holds' }),
  })
  .meta({ id: 'CreateUser' })
type CreateUserInput = z.output<typeof createUserBody>

export const updateUserBody = z
  .strictObject({
    ...ownFields,
    email: email.optional().meta({ description: 'A new address is unverified' }),
    status: z.enum(['active', 'suspended']).optional(),
  })
  .meta({ id: 'UpdateUser' })
type UpdateUserInput = z.output<typeof updateUserBody>

/** A user by id, of any status. Throws `not_found`. */
export async function getUser(deps: Deps, id: string): Promise<PooledUser> {
  const row = await User.findById(deps.db, id)
  if (!row) throw new ApiError('not_found', { detail: 'No user has this id' })
  return userOf(row)
}

/**
 * Makes other changes to what a user holds wait until this transaction ends. Call it before the first such change: writing a row
 * that refers to the user takes a shared lock, and two transactions that both hold one would deadlock here.
 */
export async function lockUserRow(deps: Deps<Tx>, id: string): Promise<void> {
  await User.findForUpdate(deps.db, id)
}

/** Locks a user's row until the transaction ends. Throws `not_found`, also for a deleted one. */
export async function lockUser(deps: Deps<Tx>, id: string): Promise<LockedUser> {
  const user = await User.findForUpdate(deps.db, id)
  if (!user) throw new ApiError('not_found', { detail: 'No user has this id' })
  return user
}

/**
 * Reads the caller's account again, and keeps it as it is until the transaction ends. A call that shows its caller a secret which
 * outlives the session needs this: if the account is closed meanwhile, the call is refused, or the secret is found and withdrawn.
 * Lock nothing before. Throws `token_revoked`.
 */
export async function keepCaller(deps: Deps<Tx>, { caller }: Actor): Promise<void> {
  if (caller?.kind !== 'user' || caller.sessionId === null) return
  await User.keep(deps.db, caller.userId)
  const session = await Session.findLive(deps.db, caller.sessionId)
  if (session?.status !== 'active' || session.ended_at !== null) throw new ApiError('token_revoked')
  const { user_floor, app_floor, user_access_floor, app_access_floor } = session
  const floors = [user_floor, app_floor ?? 0, user_access_floor, app_access_floor ?? 0]
  if (caller.claims.tv < Math.max(...floors)) throw new ApiError('token_revoked')
}

/**
 * Users, newest first, who match all filters. Deleted users are shown only if `status` asks for them. A page is read in order
 * from an index that begins with the filter, so that a few matches among millions are found as fast as many. Throws `not_found`
 * for an unknown app or role: a mistyped name must not look like a list of nobody.
 */
export async function listUsers(deps: Deps, request: ListUsersRequest): Promise<Page<PooledUser>> {
  const { namespace, app, ...others } = request
  const appId = app === undefined ? undefined : (await App.findByRef(deps.db, app))?.id
  if (app !== undefined && appId === undefined) throw await unknownApp(deps, app)
  if (others.role !== undefined && !(await Role.find(deps.db, { code: others.role }))) throw await unknownRole(deps, others.role)
  const filters = { ...others, appId }
  const rows =
    namespace === undefined ? await User.listPage(deps.db, filters, deps.clock()) : await usersOfPool(deps, filters, namespace)
  const { items, nextCursor } = pageOf(rows, request, ({ id }) => id)
  return { items: items.map(userOf), nextCursor }
}

/** The users with this home pool, and the users tagged with it, merged from two ordered queries. */
async function usersOfPool(deps: Deps, filters: UserFilters, namespace: string): Promise<UserRow[]> {
  const now = deps.clock()
  const home = await User.listPage(deps.db, { ...filters, pool: { name: namespace, as: 'home' } }, now)
  const tagged = await User.listPage(deps.db, { ...filters, pool: { name: namespace, as: 'tag' } }, now)
  return [...home, ...tagged].sort((one, other) => (one.id < other.id ? 1 : -1))
}

/** A user with pools, apps, roles, organizations and ways to sign in, for an admin. Throws `not_found`. */
export async function describeUser(deps: Deps, id: string): Promise<z.output<typeof userDetail>> {
  const user = await getUser(deps, id)
  const apps = await UserApp.listStates(deps.db, id)
  const [newest] = await Session.list(deps.db, { user_id: id }).orderBy('id', 'desc').limit(1).select('created_at')
  const now = deps.clock()
  return {
    ...presentUser(user),
    locale: user.locale,
    apps: apps.map((app) => ({ ...app, effective: grantStateAt(app, now), expires_at: isoOrNull(app.expires_at) })),
    roles: await listGlobalRoles(deps, id),
    organizations: await listMemberships(deps, id),
    two_factor: (await SecondFactor.findActive(deps.db, id)) !== undefined,
    passkeys: await Passkey.list(deps.db, { user_id: id }).resultSize(),
    identities: await listIdentitiesOf(deps, id),
    locked_until: isoOrNull(await lockedUntil(deps, user, now)),
    last_login_at: isoOrNull(newest?.created_at ?? null),
    made_by: user.made_by,
  }
}

/** More than an account has: usually one for each provider. */
const mostIdentities = 200

async function listIdentitiesOf(deps: Deps, userId: string): Promise<z.output<typeof userDetail>['identities']> {
  const linked = UserIdentity.full(deps.db).where({ user_id: userId })
  const { items } = await withPage(linked, { limit: mostIdentities }, 'user_identities.id')
  return items.map(({ id, provider, created_at }) => ({ id, provider: provider.code, created_at: iso(created_at) }))
}

/** When the last lock after wrong passwords for the address or wrong codes ends; null if there is none. */
async function lockedUntil(deps: Deps, { id, email, namespace, tags }: PooledUser, now: number): Promise<number | null> {
  const keys = [...addressKeys(deps.config.encryptionKeys[0], email, [namespace, ...tags]), secondFactorKey(id)]
  const ends = (await Lockout.listLocks(deps.db, keys)).flatMap(({ locked_until }) => locked_until ?? [])
  const last = Math.max(0, ...ends)
  return last > now ? last : null
}

/**
 * Creates a user on behalf of an admin: no app, no mail, no webhook. A user without a password sets one by a reset.
 * Throws `validation_failed`, `email_exists_in_pool`.
 */
export async function createUser(deps: Deps<Pool>, input: CreateUserInput, actor: Actor): Promise<z.output<typeof userDetail>> {
  const { email, namespace = DEFAULT_POOL, tags = [] } = input
  const passwordHash = input.password === undefined ? null : await hashNewPassword(deps, input.password, email, actor)
  return transaction(deps, async (deps) => {
    await lockUntilCommit(deps.db, 'email', email)
    const roles = await resolveGlobalRoles(deps, input.roles ?? [])
    await assertEmailFree(deps, { email, pools: [namespace, ...tags] })
    const { id } = await insertUser(deps, {
      email,
      passwordHash,
      firstName: input.first_name ?? null,
      lastName: input.last_name ?? null,
      locale: input.locale ?? null,
      namespace,
      tags: [...new Set(tags)],
      emailVerified: input.email_verified ?? false,
      madeBy: 'admin',
      roles,
    })
    const user = await describeUser(deps, id)
    const made = { event: 'user.created', actor, userId: id, details: { before: null, after: user } } as const
    await recordEvents(deps, [made, ...assignedRoles(id, roles, actor)])
    return user
  })
}

/** The hash of a password that an admin sets for an address. Throws `validation_failed` naming `password`. */
export async function hashNewPassword(deps: Deps, password: string, email: string, actor: Actor): Promise<string> {
  const fault = passwordFault(password, email, deps.passwordBlocklist)
  if (fault) throw fieldError('password', fault.code, fault.message)
  return deps.passwords.hash(password, hashLineOf(actor))
}

declare const isNew: unique symbol

/** A user whom this transaction has made. */
export type NewAccount = PooledUser & { readonly [isNew]: true }

export interface NewUser {
  email: string
  passwordHash: string | null
  firstName: string | null
  lastName: string | null
  locale: string | null
  /** Home pool. */
  namespace: string
  tags: readonly string[]
  emailVerified: boolean
  madeBy: MadeBy
  roles: readonly string[]
}

/**
 * Inserts a user with its pool tags and global roles. The caller must hold the lock on the e-mail and have checked that it is
 * free in the pools; the unique index is the last line of defence. The event, if any, is recorded by the same statement.
 */
export async function insertUser(deps: Deps<Tx>, input: NewUser, event?: Omit<NewAuditEvent, 'userId'>): Promise<NewAccount> {
  const now = deps.clock()
  const row = {
    id: newId(now),
    email: input.email,
    ...(input.emailVerified ? verifiedNow(now) : neverVerified),
    made_by: input.madeBy,
    password_hash: input.passwordHash,
    first_name: input.firstName,
    last_name: input.lastName,
    locale: input.locale,
    namespace: input.namespace,
    status: 'active' as const,
    token_version: 0,
    min_token_version: 0,
    created_at: now,
    updated_at: now,
  }
  const tags = input.tags.filter((tag) => tag !== input.namespace)
  const recorded = event && eventRow(deps, { ...event, userId: row.id })
  await User.add(deps.db, row, { tags, roles: input.roles }, recorded)
  const user: PooledUser = { ...row, tags }
  return user as NewAccount
}

/**
 * Runs `change` in a transaction that locks a user's e-mail, `newEmail` if there is one, and then the user's row. No other
 * request registers, moves or tags a user of these addresses meanwhile. The address must be read before it can be locked, so this
 * starts over if the address changed in between. Throws `not_found`, also for a deleted user.
 */
export async function changeUser<T>(
  deps: Deps<Pool>,
  userId: string,
  newEmail: string | undefined,
  change: (deps: Deps<Tx>, user: PooledUser) => Promise<T>,
): Promise<T> {
  return changeAccount(deps, userId, newEmail, (deps, user) => {
    if (user.status === 'deleted') throw new ApiError('not_found', { detail: 'No user has this id' })
    return change(deps, user)
  })
}

/** Like `changeUser`, for the holder of a link: a deleted user is changed too, so `change` must look at the status. */
export async function changeAccount<T>(
  deps: Deps<Pool>,
  userId: string,
  newEmail: string | undefined,
  change: (deps: Deps<Tx>, user: PooledUser) => Promise<T>,
): Promise<T> {
  const { email } = await getUser(deps, userId)
  // A rehearsal for many users has locked their rows before. It keeps no address, so it needs no lock that comes before the rows.
  const emails = deps.isRehearsal ? [] : [...new Set([email, newEmail ?? email])].sort()
  const outcome = await transaction(deps, async (deps) => {
    for (const each of emails) await lockUntilCommit(deps.db, 'email', each)
    await lockUserRow(deps, userId)
    const user = await getUser(deps, userId)
    return user.email === email ? { result: await change(deps, user) } : undefined
  })
  return outcome ? outcome.result : changeAccount(deps, userId, newEmail, change)
}

type Changes = Partial<
  Pick<PooledUser, 'first_name' | 'last_name' | 'locale' | 'email' | 'email_verified_at' | 'mailbox_proven_at' | 'status'>
>

/**
 * Changes a user's names, locale, e-mail or state. A new address is unverified, and access tokens that name the old one die.
 * Suspending kills every token and session; activating brings none of them back. Throws `not_found`, `email_exists_in_pool`,
 * `last_system_admin`.
 */
export async function updateUser(
  deps: Deps<Pool>,
  userId: string,
  input: UpdateUserInput,
  sentBack: SentBack,
  actor: Actor,
): Promise<z.output<typeof userDetail>> {
  return changeUser(deps, userId, input.email, async (deps, user) => {
    if (Object.keys(sentBack).length > 0) refuseChanged(changedMembers(sentBack, await describeUser(deps, userId)))
    const changes = await applyChanges(deps, user, input, actor)
    // An app may require a verified address. Users who change their own address verify it in the same transaction.
    if (changes.email !== undefined) await assertAdministrableWithout(deps, userId)
    const detail = await describeUser(deps, userId)
    if (changes.status === 'suspended') await endAllTokens(deps, { userId, reason: 'user.suspended' })
    else if (changes.email !== undefined) await raiseAccessFloor(deps, userId)
    return detail
  })
}

/**
 * Writes, audits and returns what the input changes. Needs a transaction that holds the lock on the user's row, and on a new
 * e-mail. Throws `email_exists_in_pool`, `last_system_admin`.
 */
export async function applyChanges(deps: Deps<Tx>, user: ShownUser, input: UpdateUserInput, actor: Actor): Promise<Changes> {
  const changes = changesOf(user, input)
  if (Object.keys(changes).length > 0) await apply(deps, user, changes, actor)
  return changes
}

/** The columns that the input changes. */
function changesOf(user: ShownUser, { first_name, last_name, locale, email, status }: UpdateUserInput): Changes {
  return {
    ...(first_name !== undefined && first_name !== user.first_name ? { first_name } : {}),
    ...(last_name !== undefined && last_name !== user.last_name ? { last_name } : {}),
    ...(locale !== undefined && locale !== user.locale ? { locale } : {}),
    ...(email !== undefined && email !== user.email ? { email, ...unverified } : {}),
    ...(status !== undefined && status !== user.status ? { status } : {}),
  }
}

async function apply(deps: Deps<Tx>, user: ShownUser, changes: Changes, actor: Actor): Promise<void> {
  if (changes.email !== undefined)
    await assertEmailFree(deps, { email: changes.email, pools: [user.namespace, ...user.tags], exceptUserId: user.id })
  await User.change(deps.db, user.id, { ...changes, updated_at: deps.clock() })
  if (changes.status === 'suspended') await assertAdministrableWithout(deps, user.id)
  const { status, ...profile } = changes
  if (Object.keys(profile).length > 0) {
    const details = { before: shown(user, profile), after: shown({ ...user, ...profile }, profile) }
    await recordEvent(deps, { event: 'user.updated', actor, userId: user.id, details })
  }
  if (status !== undefined) {
    const event = status === 'suspended' ? 'user.suspended' : 'user.activated'
    const details = { before: { status: user.status }, after: { status } }
    await recordEvent(deps, { event, actor, userId: user.id, details })
  }
}

/** The changed fields of a user as answers show them. */
function shown(user: ShownUser, changes: Changes): Record<string, unknown> {
  const record = {
    first_name: user.first_name,
    last_name: user.last_name,
    locale: user.locale,
    email: user.email,
    email_verified: user.email_verified_at !== null,
  }
  const isChanged = (field: string) => (field === 'email_verified' ? 'email_verified_at' : field) in changes
  return Object.fromEntries(Object.entries(record).filter(([field]) => isChanged(field)))
}
