import type { Db, Tx } from '../db/handle.ts'
import { Statement } from '../db/statement.ts'
import type { KeptProof } from '../lib/proof.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import type { StoredProof } from './browser-session.ts'
import { catalogGeneration } from './generation.ts'

/** A code that was just spent, with the proof that it stands for, and what its exchange needs first. */
export type SpentCode = KeptProof<NewCode> & {
  /** The address of the user. */
  email: string
  catalog_generation: string
  /** When the browser session began; null if it is over. */
  browser_started_at: number | null
}

type NewCode = StoredProof &
  Pick<
    AuthorizationCode,
    | 'hash'
    | 'app_id'
    | 'browser_session_id'
    | 'signed_in_at'
    | 'organization_id'
    | 'redirect_uri'
    | 'code_challenge'
    | 'nonce'
    | 'scope'
    | 'created_at'
    | 'expires_at'
  >

const columns = [
  ...(['hash', 'app_id', 'user_id', 'browser_session_id', 'organization_id', 'redirect_uri', 'code_challenge', 'nonce'] as const),
  ...([
    'scope',
    'version',
    'first_factor',
    'first_proven_at',
    'signed_in_at',
    'second_factor',
    'second_proven_at',
    'second_activated_at',
  ] as const),
  ...(['created_at', 'expires_at'] as const),
] satisfies (keyof NewCode)[]
const inserting = new Statement(
  `insert into authorization_codes (${columns.join(', ')}) values (${columns.map((column) => `:${column}`).join(', ')})`,
)

const spend = (ofKeptApp: string) => `
  update authorization_codes set spent_at = :now, session_id = :sessionId
  where hash = :hash and spent_at is null and expires_at > :now ${ofKeptApp}
  returning ${columns.join(', ')}, (select u.email from users u where u.id = authorization_codes.user_id) as email, ${catalogGeneration},
    (select b.started_at from browser_sessions b
      where b.id = authorization_codes.browser_session_id and b.ended_at is null and b.expires_at > :now) as browser_started_at`
/** As `App.keep` says: the app is locked before the code, since its subquery is part of how the code is found. */
const spending = new Statement<SpentCode>(
  `with app as materialized (
    select id from apps where id = (select app_id from authorization_codes where hash = :hash) for key share
  ) ${spend('and app_id = (select id from app)')}`,
  [spend('')],
)

/** What an app exchanges for the tokens of a session. */
export class AuthorizationCode extends BaseModel {
  static override tableName = 'authorization_codes'
  static override idColumn = 'hash'

  declare hash: string
  declare app_id: string
  declare user_id: string
  declare browser_session_id: string
  declare organization_id: string | null
  declare redirect_uri: string
  declare code_challenge: string | null
  declare nonce: string | null
  declare scope: string
  declare version: number
  declare first_factor: string
  declare first_proven_at: number
  /** When the person signed in in the browser. Null for codes of earlier versions. */
  declare signed_in_at: number | null
  declare second_factor: string | null
  declare second_proven_at: number | null
  declare second_activated_at: number | null
  declare created_at: number
  declare expires_at: number
  declare spent_at: number | null
  /** When it was used again. A server of the previous version looks at it before it opens the session. */
  declare reused_at: number | null
  /** The id of the session that the first use opened, unless that use was refused. */
  declare session_id: string | null

  static async issue(db: Db, row: NewCode): Promise<void> {
    await inserting.run(db, { ...row })
  }

  /** Spends a code, for a session that it may open. Of concurrent uses one succeeds; the others wait for it and get undefined. */
  static async spend(
    db: Tx,
    { hash, sessionId, now }: { hash: string; sessionId: string; now: number },
  ): Promise<SpentCode | undefined> {
    return spending.first(db, { hash, sessionId, now })
  }

  /** Notes a second use within the life of the code. Returns whom it was for. Undefined if the code is unknown or over. */
  static async noteReuse(
    db: Tx,
    hash: string,
    now: number,
  ): Promise<Pick<AuthorizationCode, 'user_id' | 'app_id' | 'session_id' | 'redirect_uri'> | undefined> {
    const [reused] = await rowsOf(AuthorizationCode, db)
      .where({ hash })
      .whereNotNull('spent_at')
      .andWhere('expires_at', '>', now)
      .update({ reused_at: now })
      .returning(['user_id', 'app_id', 'session_id', 'redirect_uri'])
    return reused
  }

  /** The code of the app that a code was made for. */
  static async findApp(db: Db, hash: string): Promise<{ code: string } | undefined> {
    return db('authorization_codes as c').join('apps as a', 'a.id', 'c.app_id').where('c.hash', hash).first('a.code')
  }
}
