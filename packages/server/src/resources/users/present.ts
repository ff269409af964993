import type { z } from 'zod'
import type { Claimable } from '../../lib/account-record.ts'
import type { userRecord } from '../../lib/records.ts'
import { iso } from '../../lib/timestamps.ts'
import type { User } from '../../models/user.ts'

/** A user row with the names of its pool tags. */
export type PooledUser = Pick<
  User,
  | 'id'
  | 'email'
  | 'email_verified_at'
  | 'first_verified_at'
  | 'made_by'
  | 'first_name'
  | 'last_name'
  | 'namespace'
  | 'status'
  | 'created_at'
  | 'password_hash'
  | 'token_version'
  | 'min_token_version'
> & { tags: string[] }

/** An unproven user: only such a one can be claimed. */
export type ClaimableAccount = Claimable<PooledUser>

/** A user as every answer shows one: no hash, no counters. */
export function presentUser(
  user: Omit<PooledUser, 'password_hash' | 'token_version' | 'min_token_version' | 'first_verified_at' | 'made_by'>,
): z.output<typeof userRecord> {
  return {
    id: user.id,
    email: user.email,
    email_verified: user.email_verified_at !== null,
    first_name: user.first_name,
    last_name: user.last_name,
    namespace: user.namespace,
    namespaces: [user.namespace, ...[...user.tags].sort()],
    status: user.status,
    created_at: iso(user.created_at),
  }
}

/** A user read with its `tags` relation, in the form that the rest of the code passes around. */
export function pooled(user: User): PooledUser {
  return { ...user, tags: (user.tags ?? []).map((tag) => tag.namespace) }
}
