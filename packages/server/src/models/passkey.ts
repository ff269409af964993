import type { Db, Tx } from '../db/handle.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** Whether the user of `users u` has a passkey of the host `:rpId`. */
export const hasPasskey = 'exists (select 1 from passkeys where user_id = u.id and rp_id = :rpId)'

/** A passkey of a user: a key pair whose private half never leaves the user's devices. */
export class Passkey extends BaseModel {
  static override tableName = 'passkeys'

  declare id: string
  declare user_id: string
  /** Chosen by the authenticator, in base64url. */
  declare credential_id: string
  /** COSE, in base64url. */
  declare public_key: string
  /** Grows with each use, or stays 0. */
  declare sign_count: number
  /** How a browser can reach it, as a JSON list. */
  declare transports: string
  declare name: string
  /** The host that it belongs to. */
  declare rp_id: string
  /** What authenticators call the user. */
  declare user_handle: string
  declare backup_eligible: number
  declare backed_up: number
  declare created_at: number
  declare last_used_at: number | null

  /** Whether a user has a passkey of a host, with `before` one that was added before that time. */
  static async isOwned(db: Db, { before, ...of }: Pick<Passkey, 'user_id' | 'rp_id'> & { before?: number }): Promise<boolean> {
    const query = rowsOf(Passkey, db).where(of)
    if (before !== undefined) query.where('created_at', '<', before)
    return (await query.first('id')) !== undefined
  }

  /**
   * Notes a use. False if the counter does not exceed the one of the last use, unless both are 0: of two uses with the same
   * counter, one succeeds.
   */
  static async noteUse(
    db: Tx,
    id: string,
    { sign_count, backed_up, last_used_at }: Pick<Passkey, 'sign_count' | 'backed_up' | 'last_used_at'>,
  ): Promise<boolean> {
    const isAhead = rowsOf(Passkey, db)
      .where({ id })
      .where((row) => (sign_count === 0 ? row.where('sign_count', 0) : row.where('sign_count', '<', sign_count)))
    return (await isAhead.update({ sign_count, backed_up, last_used_at })) > 0
  }
}

export type PasskeyRow = Pick<Passkey, Exclude<keyof Passkey, keyof BaseModel>>
