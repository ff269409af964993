import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf } from '../api/api-client.ts'
import { Failure } from '../command-line/exit-codes.ts'
import { isUuid } from '../text/uuid.ts'

type User = components['schemas']['User']

/** The description of an argument that names a user. */
export const userRefSyntax = 'UUID, email@@pool, or an e-mail that only one user has'

export type UserRef = { id: string } | { email: string; pool: string | undefined }

/** Parses what was typed to name a user. Throws `invalid_user` if it is neither a UUID nor an e-mail. */
export function parseUserRef(typed: string): UserRef {
  if (isUuid(typed)) return { id: typed.toLowerCase() }
  const separator = typed.lastIndexOf('@@')
  const email = separator === -1 ? typed : typed.slice(0, separator)
  const pool = separator === -1 ? undefined : typed.slice(separator + 2)
  if (/^[^\s@]+@[^\s@]+$/.test(email) && pool !== '') return { email, pool }
  throw new Failure('invalid', `"${typed}" does not name a user`, { code: 'invalid_user', hint: `use a ${userRefSyntax}` })
}

/** Names a user in a form that every command accepts. */
export function userRefOf({ email, namespace }: Pick<User, 'email' | 'namespace'>): string {
  return `${email}@@${namespace}`
}

/** The pool that is meant if none is named. */
const plainPool = '@@default'

/** Leaves the default pool out of a reference, for people to read. */
export function shownUser(ref: string): string {
  return ref.endsWith(plainPool) ? ref.slice(0, -plainPool.length) : ref
}

/** The id of the named user. Throws `user_not_found`, or `ambiguous_user` with the candidates. */
export async function findUserId(api: Api, typed: string): Promise<string> {
  const id = await findOnlyUserId(api, typed)
  if (id === undefined)
    throw new Failure('notFound', `no user matches ${typed}`, { code: 'user_not_found', hint: 'authctl user find searches' })
  return id
}

/** The id of the user, or undefined if there is no such user. Throws `ambiguous_user` with the candidates. */
export async function findOnlyUserId(api: Api, typed: string): Promise<string | undefined> {
  const ref = parseUserRef(typed)
  if ('id' in ref) return ref.id
  const { items } = await bodyOf(
    api.GET('/api/v1/admin/users', {
      params: { query: { email: ref.email, ...(ref.pool ? { namespace: ref.pool } : {}), limit: 200 } },
    }),
  )
  const [only, ...others] = items
  if (others.length === 0) return only?.id
  const candidates = items.map((user) => `${userRefOf(user)}  ${user.id}`).join('\n')
  throw new Failure('invalid', `${items.length} users match ${typed}`, {
    code: 'ambiguous_user',
    hint: `use one of these:\n${candidates}`,
  })
}
