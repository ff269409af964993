import { BaseModel } from './base-model.ts'

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
}
