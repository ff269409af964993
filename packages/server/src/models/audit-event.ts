import { BaseModel } from './base-model.ts'

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
}
