import type { Db, Tx } from '../db/handle.ts'
import { Statement } from '../db/statement.ts'
import { BaseModel, rowsOf } from './base-model.ts'

const spendableColumns = [
  ...(['token_hash', 'user_id', 'purpose', 'email', 'account_email', 'new_email', 'mailbox_proven_at', 'app_id'] as const),
  ...(['redirect_url', 'created_at', 'expires_at', 'browser_hash', 'request_field', 'code_key_hash'] as const),
] as const

const inserted = `insert into mail_tokens (${spendableColumns.join(', ')})
  values (${spendableColumns.map((column) => `:${column}`).join(', ')})`
const replaced = 'delete from mail_tokens where user_id = :user_id and purpose = :purpose and spent_at is null'
// The parts of one statement of Postgres do not see what the others write.
const replacing = new Statement(`with made as (${inserted}) ${replaced}`, [inserted, `${replaced} and token_hash <> :token_hash`])

/** The token of a mailed link, stored by its hash. */
export class MailToken extends BaseModel {
  static override tableName = 'mail_tokens'
  static override idColumn = 'token_hash'

  declare token_hash: string
  declare user_id: string
  declare purpose:
    | 'verify_email'
    | 'reset_password'
    | 'magic_link'
    | 'allow_email_change'
    | 'change_email'
    | 'undo_email_change'
    | 'delete_account'
    | 'new_sign_in'
  /** Where the mail went. */
  declare email: string
  /** The address that the account must still have. Null for a token that undoes a change, whatever the address is by then. */
  declare account_email: string | null
  /** The address that the account would get, for a token that was mailed to the present one. */
  declare new_email: string | null
  /** The `mailbox_proven_at` of the address that an undo restores. */
  declare mailbox_proven_at: number | null
  declare app_id: string
  declare redirect_url: string | null
  /** For a change of the address and its undo: when the user asked for the change. */
  declare created_at: number
  declare expires_at: number
  declare spent_at: number | null
  /** Of the cookie of the browser that asked for the mail on our own page. Null for other mails. */
  declare browser_hash: string | null
  /** The authorization request that this browser goes on with, sealed for it. */
  declare request_field: string | null
  /** Of the secret that the code in the mail is made from. */
  declare code_key_hash: string | null

  /** Inserts a token, and deletes the other unspent ones of the user for the same purpose. */
  static async replace(db: Tx, row: Omit<MailTokenRow, 'spent_at'>): Promise<void> {
    // A mail that is tried again keeps its code, whose key is unique.
    if (row.code_key_hash !== null) await MailToken.deleteUnspent(db, row.user_id, [row.purpose])
    await replacing.run(db, row)
  }

  static async findSpendable<P extends MailToken['purpose']>(
    db: Db,
    hash: string,
    purposes: readonly P[],
    now: number,
  ): Promise<SpendableToken<P> | undefined> {
    return MailToken.#spendable(db, hash, now)
      .whereIn('purpose', [...purposes])
      .first<SpendableToken<P> | undefined>(...spendableColumns)
  }

  /** The code of the app that the link was mailed for. */
  static async findApp(db: Db, hash: string): Promise<{ code: string } | undefined> {
    return db('mail_tokens as t').join('apps as a', 'a.id', 't.app_id').where('t.token_hash', hash).first('a.code')
  }

  /** Spends the token. Of concurrent uses one succeeds; the others get false. */
  static async spend(db: Tx, hash: string, now: number): Promise<boolean> {
    return (await MailToken.#spendable(db, hash, now).update({ spent_at: now })) > 0
  }

  /** Deletes the unspent tokens of a user, of the given purposes or of all. */
  static async deleteUnspent(db: Tx, userId: string, purposes?: readonly MailToken['purpose'][]): Promise<void> {
    const ofUser = rowsOf(MailToken, db).where({ user_id: userId })
    if (purposes) ofUser.whereIn('purpose', purposes)
    await ofUser.whereNull('spent_at').delete()
  }

  /**
   * Drops a change of the address, or a deletion, that a user asked for and has not confirmed. Whatever raises the token version
   * calls it: a thief who asked must not be left with a link once the owner has acted.
   */
  static async dropPending(db: Tx, userIds: readonly string[]): Promise<void> {
    await rowsOf(MailToken, db)
      .whereIn('user_id', userIds)
      .whereIn('purpose', ['allow_email_change', 'change_email', 'delete_account'])
      .whereNull('spent_at')
      .delete()
  }

  static #spendable(db: Db, hash: string, now: number) {
    return rowsOf(MailToken, db).where({ token_hash: hash }).whereNull('spent_at').where('expires_at', '>', now)
  }
}

type MailTokenRow = Pick<MailToken, (typeof spendableColumns)[number] | 'spent_at'>

/** The columns that spending a token needs. */
export type SpendableToken<P extends MailToken['purpose'] = MailToken['purpose']> = Pick<
  MailToken,
  (typeof spendableColumns)[number]
> & { purpose: P }
