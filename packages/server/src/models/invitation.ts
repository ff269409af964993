import { App } from './app.ts'
import { BaseModel } from './base-model.ts'
import { Organization } from './organization.ts'

/** An invitation to join an organization (decisions 3). */
export class Invitation extends BaseModel {
  static override tableName = 'invitations'
  static override jsonAttributes = ['role_codes']
  static override booleanColumns = ['grants_app']
  static override relationMappings = () => ({
    app: { relation: BaseModel.BelongsToOneRelation, modelClass: App, join: { from: 'invitations.app_id', to: 'apps.id' } },
    organization: {
      relation: BaseModel.BelongsToOneRelation,
      modelClass: Organization,
      join: { from: 'invitations.organization_id', to: 'organizations.id' },
    },
  })

  declare id: string
  declare organization_id: string
  declare token_hash: string
  declare email: string | null
  declare role_codes: string[]
  declare app_id: string | null
  /** A system_admin invited: only then does accepting grant the app, and prove the address. */
  declare grants_app: boolean
  declare invited_by: string | null
  declare created_at: number
  declare expires_at: number
  declare accepted_at: number | null
  declare accepted_by: string | null
  declare app?: App | null
  declare organization?: Organization
}
