import type { Db } from '../db/handle.ts'
import { BaseModel } from './base-model.ts'
import { SsoProvider } from './sso-provider.ts'

/** Links a user to a provider's `subject`. One subject may be several users, one in each pool, just like an e-mail. */
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
  /** Every read of an identity includes it. */
  declare provider: SsoProvider

  /** Identities with their providers. */
  static full(db: Db) {
    return UserIdentity.query(db).withGraphFetched('provider')
  }
}
