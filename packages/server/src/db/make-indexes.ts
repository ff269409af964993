import type { Knex } from 'knex'
import { isPostgres, isTx } from './handle.ts'
import type { NewIndex } from './migrations/schema-db.ts'

/**
 * Creates the indexes that the database lacks. Outside a transaction, Postgres creates them `concurrently`, so that the table can
 * be written meanwhile. If that is interrupted, an invalid index is left behind, which is dropped and created again.
 */
export async function makeIndexes(db: Knex, indexes: readonly NewIndex[]): Promise<void> {
  for (const index of indexes) {
    if (!(await isWanted(db, index))) continue
    if (!isPostgres(db) || isTx(db)) await db.raw(createIndex(index, 'if not exists'))
    else if ((await stateOf(db, index.name)) !== 'valid') {
      await db.raw(`drop index concurrently if exists ${index.name}`)
      await db.raw(createIndex(index, 'concurrently'))
    }
  }
}

async function isWanted(db: Knex, { onPostgresWithout: other }: NewIndex): Promise<boolean> {
  return other === undefined || (isPostgres(db) && (await stateOf(db, other)) === 'absent')
}

function createIndex({ name, table, columns, isUnique, where }: NewIndex, how: 'concurrently' | 'if not exists'): string {
  const condition = where === undefined ? '' : ` where ${where}`
  return `create${isUnique ? ' unique' : ''} index ${how} ${name} on ${table} (${columns})${condition}`
}

async function stateOf(db: Knex, name: string): Promise<'valid' | 'invalid' | 'absent'> {
  const { rows }: { rows: { valid: boolean }[] } = await db.raw(
    `select i.indisvalid as valid from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relname = ? and c.relnamespace = current_schema()::regnamespace`,
    [name],
  )
  const [found] = rows
  if (!found) return 'absent'
  return found.valid ? 'valid' : 'invalid'
}
