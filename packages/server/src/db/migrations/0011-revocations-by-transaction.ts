import type { NewIndex } from './schema-db.ts'

export const indexes: NewIndex[] = [{ name: 'revocations_by_transaction', table: 'revocations', columns: 'xid' }]
