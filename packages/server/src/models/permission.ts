import type { Db, Tx } from '../db/handle.ts'
import { chunksOf } from '../lib/collections.ts'
import { BaseModel, type ModelOf, rowsOf, type Where } from './base-model.ts'

type PermissionRow = Pick<
  Permission,
  'id' | 'service' | 'code' | 'name' | 'resource' | 'action' | 'pruned_at' | 'created_at' | 'updated_at'
>

/** A permission that is not pruned, as its service declared it. */
export type LivePermission = Pick<Permission, 'id' | 'code' | 'name' | 'resource' | 'action'>

/** A permission that a service declared. A pruned one is a tombstone: it counts for nothing and keeps its assignments. */
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
   * The codes of permissions that are not pruned: all of `core`, and those that the services declared or the roles grant. With
   * `narrowed`, both must hold. `holdsAll` stands for roles that grant every permission.
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

  /** Inserts or updates permissions. Earlier ones of the service, also pruned, keep their row and the roles that hold them. */
  static async save(db: Tx, rows: readonly PermissionRow[]): Promise<void> {
    for (const chunk of chunksOf(rows)) {
      await rowsOf(Permission, db).insert(chunk).onConflict(['service', 'code']).merge(['name', 'pruned_at', 'updated_at'])
    }
  }

  /** The ids of all permissions with one of these codes, pruned ones too. */
  static async listIds(db: Db, codes: readonly string[]): Promise<string[]> {
    const ids: string[] = []
    for (const chunk of chunksOf(codes)) ids.push(...(await rowsOf(Permission, db).whereIn('code', chunk).pluck('id')))
    return ids
  }

  /** How many live permissions each of the services has, and how long their codes are, or what each role holds of them. */
  static async measure(db: Db, services: readonly string[], of: 'services' | 'roles'): Promise<MeasuredCodes[]> {
    const sums = db('permissions as p')
      .whereNull('p.pruned_at')
      .whereIn('p.service', [...services])
      .groupBy('p.service')
      .select('p.service', db.raw('count(*) as count'), db.raw('sum(length(p.code)) as characters'))
    if (of === 'roles') sums.join('role_permissions as r', 'r.permission_id', 'p.id').groupBy('r.role_code').select('r.role_code')
    // Postgres gives counts and sums as text.
    const rows: MeasuredCodes[] = await sums
    return rows.map((row) => ({ ...row, count: Number(row.count), characters: Number(row.characters) }))
  }

  /** The live permissions of a role, or all of them. */
  static async listHeld(db: Db, by: { roleCode: string } | 'all'): Promise<Pick<Permission, 'code' | 'service'>[]> {
    const query = db('permissions as p').whereNull('p.pruned_at')
    if (by !== 'all') query.join('role_permissions as r', 'r.permission_id', 'p.id').where('r.role_code', by.roleCode)
    return query.select('p.code', 'p.service')
  }
}

/** The number of codes, and their total length in characters. The role is set where roles are measured. */
export interface MeasuredCodes {
  service: string
  role_code?: string
  count: number
  characters: number
}

/** Takes permissions from a role or an account, by the model of what these hold. Returns how many it held. */
export async function takePermissions<M extends BaseModel & { permission_id: string }>(
  model: ModelOf<M>,
  db: Tx,
  holder: Where<M>,
  permissionIds: readonly string[],
): Promise<number> {
  let taken = 0
  for (const chunk of chunksOf(permissionIds))
    taken += await db(model.tableName).where(holder).whereIn('permission_id', chunk).delete()
  return taken
}

/** A service that registers permissions. */
export class PermissionService extends BaseModel {
  static override tableName = 'permission_services'
  static override idColumn = 'service'

  declare service: string
  /** The newest revision that a registration named. */
  declare revision: number | null
  declare registered_at: number
}
