import { BaseModel } from './base-model.ts'

/** An org-scoped role that a member holds in one organization. */
export class MembershipRole extends BaseModel {
  static override tableName = 'membership_roles'
  static override idColumn = ['membership_id', 'role_code']

  declare membership_id: string
  declare role_code: string
}
