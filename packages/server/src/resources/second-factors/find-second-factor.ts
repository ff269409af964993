import { Statement } from '../../db/statement.ts'
import type { Deps } from '../../deps.ts'

export interface SecondFactor {
  user_id: string
  /** The seed, sealed for this user. */
  totp_box: string
  activated_at: number | null
  /** The newest accepted time step: it and all before it are spent. */
  last_step: number | null
}

const activeFactor = new Statement<SecondFactor>(
  'select user_id, totp_box, activated_at, last_step from second_factors where user_id = :userId and activated_at is not null',
)

/** The second factor that a login must pass. */
export async function findActiveFactor(deps: Deps, userId: string): Promise<SecondFactor | undefined> {
  return activeFactor.first(deps.db, { userId })
}

/** The one that was set up, active or not. */
export async function findSecondFactor(deps: Deps, userId: string): Promise<SecondFactor | undefined> {
  return deps.db('second_factors').where({ user_id: userId }).first()
}

/** What a seed is sealed for: it opens for this user alone. */
export function seedContext(userId: string): string {
  return `second_factors:${userId}`
}
