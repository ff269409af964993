import type { Db, Tx } from '../db/handle.ts'
import { Statement } from '../db/statement.ts'
import type { ShownFactors } from '../lib/proof.ts'
import type { App } from './app.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { type MembershipColumns, membershipColumns } from './organization-membership.ts'
import type { SessionOwner } from './session.ts'
import { type RolesAndGrantRow, rolesAndGrantColumns, type UserRow, userColumns } from './user.ts'

/** A token with its session, its user and what the gate needs to know about them. */
export interface PresentedToken extends UserRow, RolesAndGrantRow, MembershipColumns {
  session_id: string
  app_id: string | null
  session_organization_id: string | null
  session_version: number
  session_created_at: number
  auth_method: string
  first_proven_at: number | null
  amr: string | null
  second_factor: ShownFactors['second']
  shown_at: number | null
  session_expires_at: number
  ended_at: number | null
  expires_at: number
  used_at: number | null
  successor_hash: string | null
  successor_salt: string | null
  app_floor: number | null
}

type TokenApp = Pick<App, 'code' | 'client'>

/** Everything that a refresh reads, in one statement, so that it is consistent. */
const tokenByHash = new Statement<PresentedToken>(`
  select t.session_id, s.app_id, s.organization_id as session_organization_id, s.token_version as session_version, s.created_at as session_created_at, s.auth_method,
    s.first_proven_at, s.amr, s.second_factor, s.shown_at, s.expires_at as session_expires_at,
    s.ended_at, t.expires_at, t.used_at, t.successor_hash, t.successor_salt, g.min_token_version as app_floor,
    ${userColumns}, ${rolesAndGrantColumns}, ${membershipColumns}
  from refresh_tokens t
  join sessions s on s.id = t.session_id
  join users u on u.id = s.user_id
  left join user_apps g on g.user_id = s.user_id and g.app_id = s.app_id
  left join organization_memberships m on m.user_id = s.user_id and m.organization_id = s.organization_id
  left join organizations o on o.id = m.organization_id
  where t.token_hash = :hash`)

const sessionByHash = new Statement<SessionOwner>(`
  select s.id, s.user_id, s.app_id from refresh_tokens t join sessions s on s.id = t.session_id
  where t.token_hash = :hash and s.ended_at is null`)

const appByHash = new Statement<TokenApp>(`
    select a.code, a.client from refresh_tokens t join sessions s on s.id = t.session_id join apps a on a.id = s.app_id
    where t.token_hash = :hash`)

/** Stores a token, as a statement or as part of one. */
export const newToken =
  'insert into refresh_tokens (token_hash, session_id, created_at, expires_at) values (:hash, :sessionId, :now, :expiresAt)'
const tokenInsert = new Statement(newToken)

/** How many spent tokens a session keeps. The last answers a client that lost the answer. Older ones are known without a row. */
const spentKept = 3

const spend = (ofSession: string) => `
  update refresh_tokens set used_at = :now, successor_hash = :successorHash, successor_salt = :successorSalt
  where token_hash = :hash and used_at is null and session_id = (${ofSession})`
const openSession = 'select id from sessions where id = :sessionId and ended_at is null'
/** Deletes spent tokens except the last ones. On Postgres, the one that is being spent is not among them yet. */
const forget = `
  delete from refresh_tokens where session_id = :sessionId and used_at is not null and token_hash not in (
    select token_hash from refresh_tokens where session_id = :sessionId and used_at is not null
    order by used_at desc, created_at desc limit ${spentKept}
  )`
const use = 'update sessions set last_used_at = :now, organization_id = :organizationId'

const rotation = new Statement(
  // Whatever deletes a session takes it before its tokens, and so does this.
  `with session as materialized (${openSession} for no key update),
    spent as (${spend('select id from session')} returning session_id),
    successor as (
      insert into refresh_tokens (token_hash, session_id, created_at, expires_at)
      select :successorHash, session_id, cast(:now as bigint), cast(:expiresAt as bigint) from spent
    ),
    forgotten as (${forget} and exists (select 1 from spent))
  ${use} from spent where id = spent.session_id`,
  [
    spend(openSession),
    `insert into refresh_tokens (token_hash, session_id, created_at, expires_at)
      values (:successorHash, :sessionId, :now, :expiresAt)`,
    `${use} where id = :sessionId`,
    forget,
  ],
)

/** A refresh token, stored by its hash. Of each session there is the unused one, and the last ones that were spent. */
export class RefreshToken extends BaseModel {
  static override tableName = 'refresh_tokens'
  static override idColumn = 'token_hash'

  declare token_hash: string
  declare session_id: string
  declare created_at: number
  declare expires_at: number
  declare used_at: number | null
  declare successor_hash: string | null
  /** Together with the token itself, it gives the successor again. */
  declare successor_salt: string | null

  static async issue(db: Tx, values: { hash: string; sessionId: string; now: number; expiresAt: number }): Promise<void> {
    await tokenInsert.run(db, values)
  }

  static async findPresented(db: Db, hash: string): Promise<PresentedToken | undefined> {
    return tokenByHash.first(db, { hash })
  }

  /** Spends a token, stores its successor and notes the use of the session. False, with no change, if it was spent before. */
  static async rotate(
    db: Db,
    values: {
      now: number
      hash: string
      successorHash: string
      successorSalt: string
      expiresAt: number
      sessionId: string
      organizationId: string | null
    },
  ): Promise<boolean> {
    return (await rotation.run(db, values)) > 0
  }

  static async findUnused(db: Db, hash: string): Promise<Pick<RefreshToken, 'expires_at'> | undefined> {
    return rowsOf(RefreshToken, db).where({ token_hash: hash }).whereNull('used_at').first('expires_at')
  }

  /** The token's session, unless it has ended. */
  static async findSession(db: Db, hash: string): Promise<SessionOwner | undefined> {
    return sessionByHash.first(db, { hash })
  }

  /** The app that the token's session is for. */
  static async findApp(db: Db, hash: string): Promise<TokenApp | undefined> {
    return appByHash.first(db, { hash })
  }
}
