import type { Pool } from '../db/handle.ts'
import { App } from './app.ts'
import { BaseModel, rowsOf } from './base-model.ts'
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

  /** Blanks the addresses of those that a user accepted. */
  static async blankAccepted(db: Pool, userId: string): Promise<void> {
    await rowsOf(Invitation, db).where({ accepted_by: userId }).whereNotNull('email').update({ email: null })
  }

  /** Blanks the addresses of those that wait for one of them, and ends them. */
  static async blankOpen(db: Pool, emails: readonly string[]): Promise<void> {
    await rowsOf(Invitation, db)
      .whereIn('email', emails)
      .whereNull('accepted_at')
      .update({ email: null, expires_at: db.raw('??', ['created_at']) })
  }
}
