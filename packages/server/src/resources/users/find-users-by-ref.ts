import type { Deps } from '../../deps.ts'
import { parseUserRef, type UserRef } from '../../lib/user-ref.ts'
import { User } from '../../models/user.ts'
import { type PooledUser, userOf } from './present.ts'

/** Why a name matches nobody. */
interface Nobody {
  code: 'invalid_user' | 'user_not_found'
  message: string
}

/** Why a name matches no user, or more than one. */
export interface UnknownUser {
  code: Nobody['code'] | 'ambiguous_user'
  message: string
}

type Accounts = readonly [PooledUser, ...PooledUser[]]

/** Looks up users by id, e-mail or `email@@pool`, all at once. The keys are the names as typed. Deleted users are not found. */
export async function findUsersByRef(deps: Deps, typed: readonly string[]): Promise<Map<string, PooledUser | UnknownUser>> {
  const found = await findAccountsByRef(deps, typed)
  return new Map([...found].map(([name, users]) => [name, 'code' in users ? users : onlyOne(name, users)]))
}

/** Like `findUsersByRef`, but an e-mail means the accounts that have it, in all pools: at least one. */
export async function findAccountsByRef(deps: Deps, typed: readonly string[]): Promise<Map<string, Accounts | Nobody>> {
  const refs = new Map(typed.map((each) => [each, parseUserRef(each)]))
  const named = [...refs.values()].filter((ref) => ref !== undefined)
  const emails = [...new Set(named.flatMap((ref) => ('email' in ref ? [ref.email] : [])))]
  const ids = named.flatMap((ref) => ('id' in ref ? [ref.id] : []))
  const idsOfEmails = emails.length === 0 ? [] : await User.listIdsByEmail(deps.db, emails)
  const users = (await User.listByIds(deps.db, [...new Set([...ids, ...idsOfEmails])])).map(userOf)
  return new Map([...refs].map(([name, ref]) => [name, allNamed(name, ref, users)]))
}

function allNamed(name: string, ref: UserRef | undefined, users: readonly PooledUser[]): Accounts | Nobody {
  if (ref === undefined) return { code: 'invalid_user', message: `"${name}" does not name a user` }
  const [user, ...others] = users.filter((each) => isNamed(each, ref))
  return user ? [user, ...others] : { code: 'user_not_found', message: `no user matches ${name}` }
}

function onlyOne(name: string, [user, ...others]: Accounts): PooledUser | UnknownUser {
  if (others.length === 0) return user
  const candidates = [user, ...others].map(({ email, namespace }) => `${email}@@${namespace}`)
  return { code: 'ambiguous_user', message: `${candidates.length} users match ${name}: ${candidates.join(', ')}` }
}

function isNamed({ id, email, namespace, tags }: PooledUser, ref: UserRef): boolean {
  if ('id' in ref) return id === ref.id
  return email === ref.email && (ref.pool === undefined || [namespace, ...tags].includes(ref.pool))
}
