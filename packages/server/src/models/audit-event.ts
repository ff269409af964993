import type { Db, Pool, Tx } from '../db/handle.ts'
import { forUpdate } from '../db/locks.ts'
import { BaseModel, deleteByKey, type Expired, rowsOf } from './base-model.ts'

/** A row of the audit log (contract 6.2). It names what it is about without foreign keys, and so outlives it. */
export class AuditEvent extends BaseModel {
  static override tableName = 'audit_events'
  static override jsonAttributes = ['details']

  declare id: string
  declare event: string
  declare reason: string | null
  declare actor_type: 'user' | 'service_account' | 'system' | 'anonymous'
  declare actor_id: string | null
  declare user_id: string | null
  declare app_id: string | null
  declare ip: string | null
  declare user_agent: string | null
  declare request_id: string | null
  declare details: Record<string, unknown> | null
  declare at: number

  /** The next of the events that have details, in the order of their ids. */
  static async listDetails(db: Db, of: DetailsSelection, page: DetailsPage): Promise<DetailsRow[]> {
    return AuditEvent.#details(db, of, page)
  }

  /** The same, locked until the transaction ends. */
  static async listDetailsForUpdate(db: Tx, of: DetailsSelection, page: DetailsPage): Promise<DetailsRow[]> {
    return forUpdate(db, AuditEvent.#details(db, of, page))
  }

  /** Gives some events other details. */
  static async setDetails(db: Tx, rows: readonly DetailsRow[]): Promise<void> {
    const byId = db.raw(
      `case id ${'when ? then ? '.repeat(rows.length)}end`,
      rows.flatMap(({ id, details }) => [id, details]),
    )
    const ids = rows.map(({ id }) => id)
    await rowsOf(AuditEvent, db).whereIn('id', ids).update({ details: byId })
  }

  static async deleteExpired(db: Pool, { until, limit }: Expired): Promise<number> {
    return deleteByKey(AuditEvent, db, db(AuditEvent.tableName).where('at', '<=', until).limit(limit))
  }

  static #details(db: Db, { userId, holding }: DetailsSelection, { after, limit }: DetailsPage) {
    const query = rowsOf(AuditEvent, db).where({ user_id: userId }).whereNotNull('details').orderBy('id').limit(limit)
    if (holding)
      query.where((any) => {
        for (const text of holding) any.orWhereRaw(`details like ? escape '\\'`, [`%${text.replace(/[\\%_]/g, '\\$&')}%`])
      })
    if (after !== undefined) query.where('id', '>', after)
    return query.select<DetailsRow[]>('id', 'details')
  }
}

export interface DetailsRow {
  id: string
  /** JSON. */
  details: string
}

/** Events about a user, or about nobody; of these, those whose JSON holds one of the texts. */
export interface DetailsSelection {
  userId: string | null
  holding?: readonly string[]
}

interface DetailsPage {
  after: string | undefined
  limit: number
}
