import type { Db, Pool, Tx } from '../db/handle.ts'
import type { KeptProof } from '../lib/proof.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** The columns of a third-party login in progress that its client needs. */
export type SsoLoginRow = Pick<SsoLogin, (typeof clientColumns)[number]>

const clientColumns = [
  'state_hash',
  'provider_id',
  'app_id',
  'session_id',
  'issuer',
  'redirect_url',
  'client_state',
  'code_challenge',
  'browser_hash',
  'request_field',
] as const

type LoginOfPage = Pick<SsoLogin, 'request_field' | 'app_id' | 'created_at'> & { browser_hash: string }

/** The row of a login, if its box is still there. */
function withBox<K extends 'challenge_box' | 'claims_box', R extends SsoLoginRow & Pick<SsoLogin, K>>(
  row: R | undefined,
  column: K,
): (R & Record<K, string>) | undefined {
  const box = row?.[column]
  return row && box ? { ...row, [column]: box } : undefined
}

/** A login at a provider, or the link of one. It is begun, then answered by the provider, then spent by its client. */
export class SsoLogin extends BaseModel {
  static override tableName = 'sso_logins'
  static override idColumn = 'state_hash'

  declare state_hash: string
  declare provider_id: string
  declare app_id: string
  /** The session, of an app or of a browser, whose user is to be linked. Only this session may spend the code. Null for a login. */
  declare session_id: string | null
  /** The provider's issuer when the login began. */
  declare issuer: string
  declare redirect_url: string
  declare client_state: string
  declare code_challenge: string
  /** Of the cookie of the browser that began on our own page. Only this browser goes on. Null for a login or link of the API. */
  declare browser_hash: string | null
  /** What the page goes on with, sealed for this browser: the authorization request, or the account page. */
  declare request_field: string | null
  /** Nonce and verifier, sealed, until the answer comes. */
  declare challenge_box: string | null
  declare answered_at: number | null
  declare code_hash: string | null
  declare subject: string | null
  /** What the provider said, sealed, until the code is spent. */
  declare claims_box: string | null
  declare spent_at: number | null
  declare created_at: number
  declare expires_at: number

  /** Takes the provider's answer: only the first, and only from the same provider. */
  static async answer(
    db: Pool,
    of: Pick<SsoLogin, 'state_hash' | 'provider_id' | 'issuer'>,
    now: number,
  ): Promise<(SsoLoginRow & { challenge_box: string }) | undefined> {
    const [answered] = await rowsOf(SsoLogin, db)
      .where({ state_hash: of.state_hash, provider_id: of.provider_id, issuer: of.issuer })
      .whereNull('answered_at')
      .andWhere('expires_at', '>', now)
      .update({ answered_at: now })
      .returning([...clientColumns, 'challenge_box'])
    return withBox(answered, 'challenge_box')
  }

  /** What the provider said about a user, until the client of the login exchanges its code. */
  static async findByCode(
    db: Db,
    codeHash: string,
    now: number,
  ): Promise<KeptProof<SsoLoginRow & { claims_box: string }> | undefined> {
    const found = await SsoLogin.#spendable(db, now)
      .where({ code_hash: codeHash })
      .first<KeptProof<SsoLoginRow & Pick<SsoLogin, 'claims_box'>> | undefined>(...clientColumns, 'claims_box')
    return withBox(found, 'claims_box')
  }

  /** A login or link that began on our own pages, by the state that the provider gave back. */
  static async findOfPage(db: Db, stateHash: string, now: number): Promise<LoginOfPage | undefined> {
    return rowsOf(SsoLogin, db)
      .where({ state_hash: stateHash })
      .whereNotNull('browser_hash')
      .whereNotNull('answered_at')
      .where('expires_at', '>', now)
      .first<LoginOfPage | undefined>('browser_hash', 'request_field', 'app_id', 'created_at')
  }

  /** The code of the app that the login leads to. */
  static async findApp(db: Db, codeHash: string): Promise<{ code: string } | undefined> {
    return db('sso_logins as t').join('apps as a', 'a.id', 't.app_id').where('t.code_hash', codeHash).first('a.code')
  }

  /** Spends the code. Of concurrent uses one succeeds; the others get false. */
  static async spend(db: Tx, stateHash: string, now: number): Promise<boolean> {
    return (await SsoLogin.#spendable(db, now).where({ state_hash: stateHash }).update({ spent_at: now, claims_box: null })) > 0
  }

  static #spendable(db: Db, now: number) {
    return rowsOf(SsoLogin, db).whereNotNull('code_hash').whereNull('spent_at').where('expires_at', '>', now)
  }
}
