import type { Db } from '../db/handle.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { DeletedApp, type DeletedAppKey } from './deleted-app.ts'

/** A key of an app. An app without rows signs with the shared secret. */
export class AppKey extends BaseModel {
  static override tableName = 'app_keys'
  static override idColumn = ['app_id', 'version']

  declare app_id: string
  declare version: number
  /** The sealed secret; null stands for the shared one. */
  declare secret_box: string | null
  /** The current key signs. The next and the previous one are accepted too. */
  declare stage: 'next' | 'current' | 'previous'
  /** When the key got its stage. */
  declare created_at: number

  /** The keys of all apps that have any, and of those deleted after `deletedSince` whose codes no other app has taken. */
  static async listAll(db: Db, deletedSince: number): Promise<AppKeysOfApp[]> {
    const rows: (AppKeyRow & { code: string })[] = await db('app_keys as k')
      .join('apps as a', 'a.id', 'k.app_id')
      .orderBy(['k.app_id', 'k.version'])
      .select('k.app_id', 'k.version', 'k.secret_box', 'k.stage', 'k.created_at', 'a.code')
    const appIds = [...new Set(rows.map(({ app_id }) => app_id))]
    const deleted = await rowsOf(DeletedApp, db).whereNot({ keys: '[]' }).where('deleted_at', '>', deletedSince)
    return [
      ...appIds.map((appId) => {
        const keys = rows.filter(({ app_id }) => app_id === appId)
        return { appId, code: keys[0]?.code ?? '', keys }
      }),
      ...deleted.map(({ app_id, code, keys }): AppKeysOfApp => ({ appId: app_id, code, keys: JSON.parse(keys) })),
    ]
  }
}

export type AppKeyRow = Pick<AppKey, 'app_id' | 'version' | 'secret_box' | 'stage' | 'created_at'>

/** The app and its keys. */
export interface AppKeysOfApp {
  appId: string
  code: string
  keys: readonly DeletedAppKey[]
}
