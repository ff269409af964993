import { type Db, isPostgres, type Pool } from '../db/handle.ts'
import { only } from '../lib/collections.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** A server is alive for so long after it was last seen. */
export const serverAliveMs = 60_000

export type ServerRow = Pick<Server, 'id' | 'version' | 'started_at' | 'seen_at' | 'clock_offset_ms' | 'kids' | 'encryption_keys'>

/** A running server. */
export class Server extends BaseModel {
  static override tableName = 'servers'

  /** Names the machine and the process. */
  declare id: string
  declare version: string
  declare started_at: number
  /** By the clock of the database. */
  declare seen_at: number
  /** How far its clock is ahead of the database's. */
  declare clock_offset_ms: number
  /** The ids of the secrets that it accepts, separated by spaces. The first one signs. */
  declare kids: string
  /** Digests of its encryption keys, separated by spaces. It encrypts with the first one. */
  declare encryption_keys: string

  /** The time by the clock of the database. On SQLite that is the clock of the server. */
  static async readClock(db: Pool, now: number): Promise<number> {
    if (!isPostgres(db)) return now
    const { rows }: { rows: { now: string }[] } = await db.raw(
      'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now',
    )
    return Number(only(rows).now)
  }

  /** The servers that are alive at `now`, by the clock of the database, in the order in which they started. */
  static async listAlive(db: Db, now: number): Promise<ServerRow[]> {
    return rowsOf(Server, db)
      .where('seen_at', '>', now - serverAliveMs)
      .orderBy(['started_at', 'id'])
  }
}
