import { BaseModel } from './base-model.ts'

export type Checkpoint = Pick<AuditCheckpoint, 'seal_position' | 'seal' | 'batch' | 'upto' | 'signature' | 'created_at'>

/** Where the seals begin: the place and the seal of the last batch, or the last row of the former chain, that retention deleted. */
export class AuditCheckpoint extends BaseModel {
  static override tableName = 'audit_checkpoints'
  static override idColumn = 'seal_position'

  declare seal_position: number
  declare seal: string
  /** Null in the chain of former versions. */
  declare batch: number | null
  declare upto: string | null
  declare signature: string
  declare created_at: number
}
