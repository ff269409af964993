import type { Db } from '../db/handle.ts'
import type { KeptProof } from '../lib/proof.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** A browser in which its user has shown the second factor, and is not asked for it again for some days. */
export class TrustedBrowser extends BaseModel {
  static override tableName = 'trusted_browsers'

  declare id: string
  /** Of the secret in its cookie. */
  declare hash: string
  declare user_id: string
  /** The user's token version when the second factor was shown. */
  declare version: number
  /** When that factor was activated. */
  declare factor_activated_at: number
  /** When it was shown. The days of each app count from here. */
  declare proven_at: number
  /** When no app can trust it any more. */
  declare expires_at: number
  declare ip: string | null
  declare user_agent: string | null

  /** The trust of a secret. Whether it still holds for its user is decided where the proof is made. */
  static async findLive(db: Db, hash: string, now: number): Promise<KeptTrust | undefined> {
    return rowsOf(TrustedBrowser, db).where({ hash }).andWhere('expires_at', '>', now).first() as Promise<KeptTrust | undefined>
  }
}

type TrustedBrowserRow = Pick<TrustedBrowser, Exclude<keyof TrustedBrowser, keyof BaseModel>>
export type KeptTrust = KeptProof<TrustedBrowserRow>
