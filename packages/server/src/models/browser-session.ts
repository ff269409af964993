import type { Db, Pool, Tx } from '../db/handle.ts'
import { Statement } from '../db/statement.ts'
import { type PageRequest, rowsToRead } from '../lib/keyset.ts'
import type { KeptProof } from '../lib/proof.ts'
import { demandsSecond } from './app.ts'
import { BaseModel, deleteByKey, type Expired, rowsOf } from './base-model.ts'
import { catalogGeneration } from './generation.ts'
import { hasPasskey } from './passkey.ts'
import { hasNamesake, type UserRow, userColumns } from './user.ts'

/** What was proven when a person signed in. Browser sessions and the codes made from them keep it. */
export interface StoredProof {
  user_id: string
  /** The user's token version when the first factor was shown. */
  version: number
  first_factor: string
  first_proven_at: number
  second_factor: string | null
  second_proven_at: number | null
  second_activated_at: number | null
}

/** A browser session that is alive, with its user. */
export type LiveBrowserSession = KeptProof<BrowserSessionRow & UserRow>

interface BrowserSessionRow extends StoredProof {
  browser_session_id: string
  is_kept: number
  started_at: number
  last_seen_at: number
  signed_in_at: number | null
  /** When the active second factor was activated; null if there is none. */
  factor_activated_at: number | null
  /** Whether another user has the same e-mail, in whatever pool. */
  has_namesake: number | boolean
  is_member: number | boolean
  /** Whether the user has a passkey of this host. */
  has_passkey: number | boolean
  /** Whether one of them was there before the first factor was shown, so that it could have been shown with it. */
  had_passkey: number | boolean
  /** Whether the user has a passkey of this host, and an app that they may enter requires a second factor. */
  demands_second: number | boolean
  catalog_generation: string
}

const liveByHash = new Statement<LiveBrowserSession>(`
  select b.id as browser_session_id, b.user_id, b.version, b.first_factor, b.first_proven_at, b.second_factor, b.second_proven_at,
    b.second_activated_at, b.is_kept, b.started_at, b.last_seen_at, b.signed_in_at, f.activated_at as factor_activated_at, ${userColumns},
    ${hasNamesake},
    exists (select 1 from organization_memberships m where m.user_id = u.id) as is_member,
    ${hasPasskey} as has_passkey,
    exists (select 1 from passkeys p where p.user_id = u.id and p.rp_id = :rpId and p.created_at < b.first_proven_at) as had_passkey,
    ${hasPasskey} and ${demandsSecond} as demands_second,
    ${catalogGeneration}
  from browser_sessions b
  join users u on u.id = b.user_id
  left join second_factors f on f.user_id = u.id and f.activated_at is not null
  where b.hash = :hash and b.ended_at is null and b.expires_at > :now and b.version >= u.min_token_version and u.status = 'active'`)

const floorsNow = new Statement<{ status: string; user_floor: number; app_floor: number | null }>(`
  select u.status, u.min_token_version as user_floor, g.min_token_version as app_floor
  from browser_sessions b
  join users u on u.id = b.user_id
  left join user_apps g on g.user_id = u.id and g.app_id = :appId
  where b.id = :id and b.ended_at is null for share of b`)

/** The browser sessions `b` of a user that are alive. */
function aliveOf(db: Db, userId: string, now: number) {
  return db('browser_sessions as b')
    .join('users as u', 'u.id', 'b.user_id')
    .where('b.user_id', userId)
    .whereNull('b.ended_at')
    .andWhere('b.expires_at', '>', now)
    .whereRaw('b.version >= u.min_token_version')
}

/** A person who is signed in at this service in one browser. The browser holds its secret in a cookie. */
export class BrowserSession extends BaseModel {
  static override tableName = 'browser_sessions'

  declare id: string
  declare hash: string
  declare user_id: string
  declare version: number
  declare first_factor: string
  declare first_proven_at: number
  declare second_factor: string | null
  declare second_proven_at: number | null
  declare second_activated_at: number | null
  declare is_kept: number
  /** When the person first signed in. App sessions that come from it are counted from here. */
  declare started_at: number
  declare last_seen_at: number
  /** When the person last signed in. Null for browser sessions of earlier versions. */
  declare signed_in_at: number | null
  declare expires_at: number
  declare ended_at: number | null
  declare ended_reason: string | null
  declare ip: string | null
  declare user_agent: string | null

  /** `rpId` is the host of passkeys; null where none work. */
  static async findLive(db: Db, of: { hash: string; rpId: string | null; now: number }): Promise<LiveBrowserSession | undefined> {
    return liveByHash.first(db, of)
  }

  /** Whether the session of a user still speaks for them. */
  static async isAlive(db: Db, { id, user_id, now }: Pick<BrowserSession, 'id' | 'user_id'> & { now: number }): Promise<boolean> {
    return (await aliveOf(db, user_id, now).where({ 'b.id': id, 'u.status': 'active' }).first('b.id')) !== undefined
  }

  /**
   * Postgres: keeps a browser session that has not ended from ending until this transaction is over, and returns the minimum token
   * versions of its user now. A request that ends it waits, and then finds the app session that was opened from it.
   */
  static async keepOpen(db: Tx, id: string, appId: string) {
    return floorsNow.first(db, { id, appId })
  }

  /** A page of those of a user that are alive, newest first, in the terms of sessions. */
  static async listAlive(db: Db, userId: string, request: PageRequest, now: number): Promise<ListedBrowserSession[]> {
    const query = aliveOf(db, userId, now)
      .orderBy('b.id', 'desc')
      .limit(rowsToRead(request))
      .select('b.id', 'b.first_factor as auth_method', 'b.ip', 'b.user_agent', 'b.started_at as created_at')
      .select('b.last_seen_at as last_used_at', 'b.expires_at')
    if (request.cursor !== undefined) query.where('b.id', '<', request.cursor)
    return query
  }

  static async open(db: Tx, row: Omit<NewBrowserSession, 'ended_at' | 'ended_reason'>): Promise<void> {
    await rowsOf(BrowserSession, db).insert(row)
  }

  /** Stores another proof of the same user under a new secret. False if the session has ended. */
  static async renew(
    db: Tx,
    id: string,
    changes: StoredProof &
      Pick<BrowserSession, 'hash' | 'is_kept' | 'last_seen_at' | 'signed_in_at' | 'expires_at' | 'ip' | 'user_agent'>,
  ): Promise<boolean> {
    const { user_id, ...rest } = changes
    return (await rowsOf(BrowserSession, db).where({ id, user_id }).whereNull('ended_at').update(rest)) > 0
  }

  /** Ends a browser session. Undefined if it had ended already. */
  static async end(
    db: Tx,
    id: string,
    { now, reason }: { now: number; reason: string },
  ): Promise<Pick<BrowserSession, 'user_id'> | undefined> {
    const [ended] = await rowsOf(BrowserSession, db)
      .where({ id })
      .whereNull('ended_at')
      .update({ ended_at: now, ended_reason: reason })
      .returning('user_id')
    return ended
  }

  static async deleteExpired(db: Pool, { until, limit }: Expired): Promise<number> {
    const over = db(BrowserSession.tableName).where((any) =>
      any.where('expires_at', '<=', until).orWhere('ended_at', '<=', until),
    )
    return deleteByKey(BrowserSession, db, over.limit(limit))
  }
}

type ListedBrowserSession = Pick<BrowserSession, 'id' | 'ip' | 'user_agent' | 'expires_at'> & {
  auth_method: string
  created_at: number
  last_used_at: number
}

type NewBrowserSession = Pick<BrowserSession, Exclude<keyof BrowserSession, keyof BaseModel>>
