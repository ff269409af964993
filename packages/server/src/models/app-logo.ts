import type { Db, Tx } from '../db/handle.ts'
import type { ImageType } from '../lib/image.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** The logo of an app. */
export class AppLogo extends BaseModel {
  static override tableName = 'app_logos'
  static override idColumn = 'app_id'

  declare app_id: string
  /** The SHA-256 of the image in hex, by which it is found. Apps with the same logo have the same digest. */
  declare digest: string
  declare type: ImageType
  declare image: Buffer

  static async findByDigest(db: Db, digest: string): Promise<AppLogo | undefined> {
    return AppLogo.query(db).findOne({ digest }).limit(1)
  }

  static async put(db: Tx, row: Pick<AppLogo, 'app_id' | 'digest' | 'type' | 'image'>): Promise<void> {
    await rowsOf(AppLogo, db).insert(row).onConflict('app_id').merge()
  }

  static async delete(db: Tx, appId: string): Promise<void> {
    await rowsOf(AppLogo, db).where({ app_id: appId }).delete()
  }
}
