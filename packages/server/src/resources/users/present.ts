import type { z } from 'zod'
import type { Claimable } from '../../lib/account-record.ts'
import { present, userRecord } from '../../lib/records.ts'
import { wordsIn } from '../../lib/words.ts'
import type { ShownUserRow, User, UserRow } from '../../models/user.ts'

/** The fields of a user that an answer shows: no hash, no counters. */
export type ShownUser = Omit<ShownUserRow, 'tags'> & { tags: string[] }

/** A user row with the names of its pool tags. */
export type PooledUser = Omit<UserRow, 'tags'> & { tags: string[] }

/** An unproven user. Only their accounts can be taken over. */
export type ClaimableAccount = Claimable<PooledUser>

/** A user as answers show it. */
export function presentUser(user: ShownUser): z.output<typeof userRecord> {
  const { namespace, tags, email_verified_at } = user
  return present(userRecord, {
    ...user,
    email_verified: email_verified_at !== null,
    namespaces: [namespace, ...[...tags].sort()],
  })
}

/** A user read with its `tags` relation, in the form that the rest of the code passes around. */
export function pooled(user: User): PooledUser {
  return { ...user, tags: (user.tags ?? []).map((tag) => tag.namespace) }
}

export function shownUserOf(row: ShownUserRow): ShownUser {
  return {
    id: row.id,
    email: row.email,
    email_verified_at: row.email_verified_at,
    first_name: row.first_name,
    last_name: row.last_name,
    locale: row.locale,
    namespace: row.namespace,
    status: row.status,
    created_at: row.created_at,
    tags: wordsIn(row.tags),
  }
}

export function userOf(row: UserRow): PooledUser {
  return {
    ...shownUserOf(row),
    first_verified_at: row.first_verified_at,
    link_verified_at: row.link_verified_at,
    mailbox_proven_at: row.mailbox_proven_at,
    made_by: row.made_by,
    password_hash: row.password_hash,
    token_version: row.token_version,
    min_token_version: row.min_token_version,
  }
}
