import type { NewIndex } from './schema-db.ts'

export const indexes: NewIndex[] = [
  { name: 'audit_events_unsealed', table: 'audit_events', columns: 'id', where: 'seal_position is null' },
]
