import type { Db } from '../db/handle.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** A permission that a service declared (contract 2.6). A pruned one is a tombstone: it counts for nothing and keeps its assignments. */
export class Permission extends BaseModel {
  static override tableName = 'permissions'

  declare id: string
  declare service: string
  declare code: string
  declare name: string
  declare resource: string
  declare action: string
  declare pruned_at: number | null
  declare created_at: number
  declare updated_at: number

  /**
   * The codes of those that are not pruned: the whole `core`, and those that the services declared or the roles grant, or `narrowed` both
   * at once. `holdsAll` stands for roles that grant every one.
   */
  static async listCodes(
    db: Db,
    {
      core,
      services,
      roles,
      narrowed,
      holdsAll,
    }: { core: string; services: readonly string[]; roles: readonly string[]; narrowed: boolean; holdsAll: boolean },
  ): Promise<string[]> {
    const granted = db('role_permissions').whereIn('role_code', roles).select('permission_id')
    return rowsOf(Permission, db)
      .whereNull('pruned_at')
      .andWhere((any) => {
        any.where('service', core)
        if (narrowed) {
          any.orWhere((both) => {
            both.whereIn('service', services)
            if (!holdsAll) both.whereIn('id', granted)
          })
          return
        }
        if (holdsAll) any.orWhereRaw('1 = 1')
        else any.orWhereIn('service', services).orWhereIn('id', granted)
      })
      .distinct()
      .pluck('code')
  }
}
