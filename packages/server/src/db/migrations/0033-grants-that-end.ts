import type { NewIndex } from './schema-db.ts'

export const oldestVersion = '0.1.0'

/** For lists of the grants of an app that end, have ended, or were revoked: few of many. */
export const indexes: readonly NewIndex[] = [
  { name: 'user_apps_ending', table: 'user_apps', columns: 'app_id, id', where: 'expires_at is not null' },
  { name: 'user_apps_revoked', table: 'user_apps', columns: 'app_id, id', where: "status = 'revoked'" },
]
