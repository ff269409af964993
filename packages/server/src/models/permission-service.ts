import type { Tx } from '../db/handle.ts'
import { forUpdate } from '../db/locks.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** A service that registers permissions. */
export class PermissionService extends BaseModel {
  static override tableName = 'permission_services'
  static override idColumn = 'service'

  declare service: string
  /** The newest revision that a registration named. */
  declare revision: number | null
  declare registered_at: number

  /** Makes other registrations for this service wait until the transaction ends. Undefined if the service is unknown. */
  static async lock(db: Tx, service: string): Promise<Pick<PermissionService, 'revision'> | undefined> {
    return forUpdate(db, rowsOf(PermissionService, db).where({ service }).first('revision'))
  }

  /** Inserts the service unless it is known. */
  static async insert(db: Tx, row: Pick<PermissionService, 'service' | 'registered_at'>): Promise<void> {
    await rowsOf(PermissionService, db).insert(row).onConflict('service').ignore()
  }

  static async update(
    db: Tx,
    service: string,
    changes: Partial<Pick<PermissionService, 'revision' | 'registered_at'>>,
  ): Promise<void> {
    await rowsOf(PermissionService, db).where({ service }).update(changes)
  }
}
