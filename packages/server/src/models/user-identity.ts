import type { Tx } from '../db/handle.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { SsoProvider } from './sso-provider.ts'

/** That a user is who a provider calls `subject`. One subject may be several users, as an e-mail may: one in each pool (ADR 10). */
export class UserIdentity extends BaseModel {
  static override tableName = 'user_identities'
  static override relationMappings = () => ({
    provider: {
      relation: BaseModel.BelongsToOneRelation,
      modelClass: SsoProvider,
      join: { from: 'user_identities.provider_id', to: 'sso_providers.id' },
    },
  })

  declare id: string
  declare user_id: string
  declare provider_id: string
  declare subject: string
  declare created_at: number
  declare provider?: SsoProvider

  static async deleteOf(db: Tx, userId: string): Promise<void> {
    await rowsOf(UserIdentity, db).where({ user_id: userId }).delete()
  }
}
