import type { PooledUser } from './present.ts'

/** The columns of `users u` that the rest of the code passes around, for a statement of its own. */
export const userColumns = `u.id, u.email, u.email_verified_at, u.first_verified_at, u.made_by, u.first_name, u.last_name, u.namespace, u.status,
  u.created_at, u.password_hash, u.token_version, u.min_token_version,
  (select string_agg(namespace, ' ') from user_namespaces where user_id = u.id) as tags`

/** What `userColumns` gives: the tags as one text, since names of pools have no space. */
export type UserRow = Omit<PooledUser, 'tags'> & { tags: string | null }

export function userOf(row: UserRow): PooledUser {
  return {
    id: row.id,
    email: row.email,
    email_verified_at: row.email_verified_at,
    first_verified_at: row.first_verified_at,
    made_by: row.made_by,
    first_name: row.first_name,
    last_name: row.last_name,
    namespace: row.namespace,
    status: row.status,
    created_at: row.created_at,
    password_hash: row.password_hash,
    token_version: row.token_version,
    min_token_version: row.min_token_version,
    tags: wordsIn(row.tags),
  }
}

/** The codes in what `string_agg(code, ' ')` gave: null when there was none. */
export function wordsIn(text: string | null): string[] {
  return text === null ? [] : text.split(' ')
}
