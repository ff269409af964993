import type { z } from 'zod'
import type { Pool } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { hashLineOf } from '../../lib/hash-line.ts'
import { passwordFault } from '../../lib/password-policy.ts'
import { DEFAULT_POOL } from '../../lib/pool-set.ts'
import { recordEvents } from '../audit/record-event.ts'
import { assertEmailFree } from './assert-email-free.ts'
import { describeUser } from './describe-user.ts'
import { assignedRoles, resolveGlobalRoles } from './global-roles.ts'
import { insertUser } from './insert-user.ts'
import type { CreateUserInput, userDetail } from './schema.ts'

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
