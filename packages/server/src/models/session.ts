import type { Db, Tx } from '../db/handle.ts'
import { forUpdate, forUpdateOfUnlocked } from '../db/locks.ts'
import { Statement } from '../db/statement.ts'
import { adminRoles } from '../lib/authority.ts'
import { type PageRequest, rowsToRead } from '../lib/keyset.ts'
import type { ShownFactors } from '../lib/proof.ts'
import { type AuditEventRow, newEvent, newEventFor } from './audit-event.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { catalogGeneration } from './generation.ts'
import { type MembershipColumns, membershipColumns } from './organization-membership.ts'
import { newToken } from './refresh-token.ts'
import { newEnd, newEndFor } from './revocation.ts'
import { hasFactorColumn } from './second-factor.ts'
import { type ShownUserRow, shownUserColumns } from './user.ts'
import { globalRolesColumn } from './user-role.ts'

/** What decides whether a token of a session is alive. */
export interface LiveSession {
  user_id: string
  app_id: string | null
  app_code: string | null
  app_status: string | null
  app_client: string | null
  session_version: number
  ended_at: number | null
  expires_at: number
  proven_at: number | null
  status: string
  /** The highest version that a token of the user can have. */
  user_version: number
  /** The minimum token versions for sessions. */
  user_floor: number
  app_floor: number | null
  user_access_floor: number
  app_access_floor: number | null
  /** In seconds. */
  app_min_iat: number | null
  service_min_iat: number
  /** The codes of the roles that let the user administer, as one text. */
  admin_roles: string | null
  catalog_generation: string
}

/** A session with its user, and one of the organizations that the user is a member of. */
export interface SelfRow
  extends ShownUserRow,
    MembershipColumns,
    Omit<LiveSession, 'status'>,
    Pick<Session, 'first_proven_at' | 'amr' | 'auth_method' | 'scope'> {
  mailbox_proven_at: number | null
  session_created_at: number
  global_roles: string | null
  has_factor: number | boolean
  /** The organization that the session is for. */
  session_organization_id: string | null
  access_expires_at: number | null
}

/** What goes on in a session whose password is changed. */
type OpenSession = Pick<
  Session,
  'created_at' | 'expires_at' | 'organization_id' | 'amr' | 'auth_method' | 'second_factor' | 'shown_at'
>

/** A session, and whose it is. */
export type SessionOwner = Pick<Session, 'id' | 'user_id' | 'app_id'>

/** A session as shown to its user. */
export type SessionRow = Pick<
  Session,
  'id' | 'app_id' | 'auth_method' | 'ip' | 'user_agent' | 'created_at' | 'last_used_at' | 'expires_at'
> & { app_code: string | null }

/** The columns of a `LiveSession`, and where they are found: the session is `s`, its user `u`. */
const liveSessionColumns = `s.user_id, s.app_id, a.code as app_code, a.status as app_status, a.client as app_client, s.token_version as session_version, s.ended_at,
  s.expires_at, s.proven_at, u.status, u.token_version as user_version,
  u.min_token_version as user_floor, g.min_token_version as app_floor,
  u.min_access_version as user_access_floor, g.min_access_version as app_access_floor,
  a.min_iat as app_min_iat, (select min_iat from service) as service_min_iat,
  (select string_agg(role_code, ' ') from user_roles
    where user_id = s.user_id and role_code in (${adminRoles.map((code) => `'${code}'`).join(', ')})) as admin_roles,
  ${catalogGeneration}`
const liveSessionTables = `sessions s
  join users u on u.id = s.user_id
  left join apps a on a.id = s.app_id
  left join user_apps g on g.user_id = s.user_id and g.app_id = s.app_id`

const sessionById = new Statement<LiveSession>(`select ${liveSessionColumns} from ${liveSessionTables} where s.id = :id`)

/** One row for each organization of the user, or one row without an organization. */
const selfBySession = new Statement<SelfRow>(`
  select ${liveSessionColumns}, ${shownUserColumns}, ${globalRolesColumn},
    ${hasFactorColumn}, s.first_proven_at, s.amr, s.auth_method, s.scope, u.mailbox_proven_at, s.created_at as session_created_at, s.organization_id as session_organization_id, g.expires_at as access_expires_at,
    ${membershipColumns}
  from ${liveSessionTables}
  left join organization_memberships m on m.user_id = u.id
  left join organizations o on o.id = m.organization_id
  where s.id = :id`)

const newSession = `
  insert into sessions (id, user_id, app_id, organization_id, auth_method, token_version, ip, user_agent,
    created_at, last_used_at, proven_at, first_proven_at, amr, second_factor, shown_at, browser_session_id, scope, expires_at)
  values (:sessionId, :userId, :appId, :organizationId, :authMethod, :version, :ip, :userAgent, :now, :now, :provenAt,
    :firstProvenAt, :amr, :secondFactor, :shownAt, :browserSessionId, :scope, :sessionExpiresAt)`
const opening = new Statement(`with session as (${newSession}) ${newToken}`, [newSession, newToken])

const end = 'update sessions set ended_at = :at, ended_reason = :event where id = :sessionId and ended_at is null'
/**
 * Ends a session, records it and reports it to consumers. On Postgres it fails, by a division by zero, where a trigger drops the
 * event.
 */
const ending = new Statement(
  `with ended as (${end} returning id, user_id, app_id),
    told as (${newEndFor('ended')}),
    recorded as (${newEventFor('ended')} returning id)
  select 1 / (select count(*) from recorded) from ended`,
  [end, newEvent, newEnd],
)

/**
 * The sessions `s` of a user that are alive. A login that raced with a revocation leaves one that never ended, but is below the
 * minimum token version.
 */
function aliveOf(db: Db, userId: string, now: number) {
  return db('sessions as s')
    .join('users as u', 'u.id', 's.user_id')
    .leftJoin('user_apps as g', (on) => on.on('g.user_id', 's.user_id').andOn('g.app_id', 's.app_id'))
    .where('s.user_id', userId)
    .whereNull('s.ended_at')
    .andWhere('s.expires_at', '>', now)
    .whereRaw('s.token_version >= u.min_token_version and s.token_version >= coalesce(g.min_token_version, 0)')
}

/** A login, until it ends or expires. Its refresh tokens replace one another. */
export class Session extends BaseModel {
  static override tableName = 'sessions'

  declare id: string
  declare user_id: string
  declare app_id: string | null
  declare organization_id: string | null
  declare auth_method: string
  /** The user's token version when the session began. A minimum token version that rises above it ends the session. */
  declare token_version: number
  declare ip: string | null
  declare user_agent: string | null
  declare created_at: number
  declare last_used_at: number
  /** When its user last proved who they are, with the second factor where one was active. */
  declare proven_at: number | null
  /** When the first factor was shown, and how the user signed in (RFC 8176). Null for sessions of earlier versions. */
  declare first_proven_at: number | null
  declare amr: string | null
  /** How the second factor was shown. Null if it was not, and for sessions of earlier versions. A password change leaves it. */
  declare second_factor: ShownFactors['second']
  /**
   * Since when the session meets what its app demands: when that was shown or, if nothing was, when the person signed in. Null for
   * sessions of earlier versions.
   */
  declare shown_at: number | null
  /** The browser session that the code of this session came from. */
  declare browser_session_id: string | null
  /** What the app asked for with that code. */
  declare scope: string | null
  declare expires_at: number
  declare ended_at: number | null
  declare ended_reason: string | null

  /** Stores a session with its first refresh token, to which `hash` and `expiresAt` belong. */
  static async open(
    db: Tx,
    values: {
      sessionId: string
      userId: string
      appId: string | null
      organizationId: string | null
      authMethod: string
      version: number
      ip: string | null
      userAgent: string | null
      now: number
      provenAt: number | null
      firstProvenAt: number
      amr: string
      secondFactor: ShownFactors['second']
      shownAt: number
      browserSessionId: string | null
      scope: string | null
      sessionExpiresAt: number
      hash: string
      expiresAt: number
    },
  ): Promise<void> {
    await opening.run(db, values)
  }

  static async findLive(db: Db, id: string): Promise<LiveSession | undefined> {
    return sessionById.first(db, { id })
  }

  /** A session with its user: one row per organization of the user, or one without. Empty if there is no such session. */
  static async listSelf(db: Db, id: string): Promise<SelfRow[]> {
    return selfBySession.all(db, { id })
  }

  /**
   * A session that has not ended, even if it is expired or below the minimum token version. Locks it, since a deletion takes it
   * before its tokens.
   */
  static async findOpenForUpdate(db: Tx, id: string): Promise<OpenSession | undefined> {
    return forUpdate(db, rowsOf(Session, db).where({ id }))
      .whereNull('ended_at')
      .first('created_at', 'expires_at', 'organization_id', 'amr', 'auth_method', 'second_factor', 'shown_at')
  }

  /** How many sessions of a user are alive. */
  static async countAlive(db: Db, userId: string, now: number): Promise<number> {
    const [counted] = await aliveOf(db, userId, now).count({ n: '*' })
    return Number(counted?.n)
  }

  /** A session of any state, with its app. */
  static async findFull(
    db: Db,
    id: string,
  ): Promise<
    (SessionRow & Pick<Session, 'user_id' | 'ended_at' | 'organization_id' | 'amr' | 'second_factor' | 'shown_at'>) | undefined
  > {
    return db('sessions as s')
      .leftJoin('apps as a', 'a.id', 's.app_id')
      .where('s.id', id)
      .select('s.id', 's.user_id', 's.app_id', 'a.code as app_code', 's.organization_id', 's.auth_method', 's.ip')
      .select(
        's.user_agent',
        's.created_at',
        's.last_used_at',
        's.expires_at',
        's.ended_at',
        's.amr',
        's.second_factor',
        's.shown_at',
      )
      .first()
  }

  /** A page of the sessions of a user that are alive, newest first. */
  static async listAlive(db: Db, userId: string, request: PageRequest, now: number): Promise<SessionRow[]> {
    const query = aliveOf(db, userId, now)
      .leftJoin('apps as a', 'a.id', 's.app_id')
      .orderBy('s.id', 'desc')
      .limit(rowsToRead(request))
      .select('s.id', 's.app_id', 'a.code as app_code', 's.auth_method', 's.ip', 's.user_agent')
      .select('s.created_at', 's.last_used_at', 's.expires_at')
    if (request.cursor !== undefined) query.where('s.id', '<', request.cursor)
    return query
  }

  /** Ends a session, with the event that records it, and tells local validators. False, with no change, if it had ended already. */
  static async end(db: Db, sessionId: string, event: AuditEventRow): Promise<boolean> {
    return (await ending.run(db, { ...event, sessionId })) > 0
  }

  /** Ends the sessions that came from a browser session. Returns them. */
  static async endOfBrowser(
    db: Tx,
    browserSessionId: string,
    { now, reason }: { now: number; reason: string },
  ): Promise<SessionOwner[]> {
    return rowsOf(Session, db)
      .where({ browser_session_id: browserSessionId })
      .whereNull('ended_at')
      .update({ ended_at: now, ended_reason: reason })
      .returning(['id', 'user_id', 'app_id'])
  }

  /** Some sessions that had expired or ended by then and that are not locked. Locks them until the transaction ends. */
  static async listOver(
    db: Tx,
    { since, until, limit }: { since: 'expires_at' | 'ended_at'; until: number; limit: number },
  ): Promise<string[]> {
    return forUpdateOfUnlocked(db, rowsOf(Session, db).limit(limit).where(since, '<=', until)).pluck('id')
  }
}
