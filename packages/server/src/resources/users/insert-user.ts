import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { type MadeBy, neverVerified, verifiedNow } from '../../lib/account-record.ts'
import { newId } from '../../lib/uuid.ts'
import { User } from '../../models/user.ts'
import type { PooledUser } from './present.ts'

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
 * free in the pools; the unique index is the last line of defence.
 */
export async function insertUser(deps: Deps<Tx>, input: NewUser): Promise<NewAccount> {
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
  await User.insert(deps.db, row, { tags, roles: input.roles })
  const user: PooledUser = { ...row, tags }
  return user as NewAccount
}
