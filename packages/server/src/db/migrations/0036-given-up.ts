import type { NewIndex } from './schema-db.ts'

export const oldestVersion = '0.1.0'

/** Of the few messages that were given up, among any number of mails that failed because none was due. */
export const indexes: readonly NewIndex[] = [
  {
    name: 'outbox_mails_given_up',
    table: 'outbox',
    columns: 'id',
    where: "kind = 'mail' and status = 'failed' and unsent is null",
  },
  { name: 'outbox_webhooks_given_up', table: 'outbox', columns: 'app_id, id', where: "kind = 'webhook' and status = 'failed'" },
]
