import type { Db } from '../db/handle.ts'
import type { Page, PageRequest } from '../lib/keyset.ts'
import { BaseModel } from './base-model.ts'
import { withPage } from './list-query.ts'
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

  /** An identity of a user, by its id or by what the provider calls the user. */
  static async findFull(
    db: Db,
    of: Pick<UserIdentity, 'id' | 'user_id'> | Pick<UserIdentity, 'user_id' | 'provider_id' | 'subject'>,
  ): Promise<UserIdentity | undefined> {
    return UserIdentity.query(db).findOne(of).withGraphFetched('provider')
  }

  /** Newest first. */
  static async listPage(db: Db, userId: string, request: PageRequest): Promise<Page<UserIdentity>> {
    const query = UserIdentity.query(db).where({ user_id: userId }).withGraphFetched('provider')
    return withPage(query, request, 'user_identities.id')
  }

  /** Whether the user has an identity of a provider that is enabled and serves some app. */
  static async hasUsable(db: Db, userId: string): Promise<boolean> {
    const usable = db('user_identities as i')
      .join('sso_providers as p', 'p.id', 'i.provider_id')
      .where({ 'i.user_id': userId, 'p.enabled': 1 })
      .whereNot({ 'p.app_codes': '[]' })
    return (await usable.first('i.id')) !== undefined
  }
}
