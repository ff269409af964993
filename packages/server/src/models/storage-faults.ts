import { type Db, isPostgres } from '../db/handle.ts'

/** A rule that the service relies on and that is broken. */
export interface Violation {
  name: string
  /** The number of rows, or of other things, that break it. */
  count: number
  /** One of them. */
  example: string
  fault: string
  cure: string
}

/** Faults that the database itself reports: rows whose parent is gone, damaged pages, invalid indexes, triggers of others. */
export async function listStorageFaults(db: Db): Promise<Violation[]> {
  const faults = isPostgres(db) ? await postgresFaults(db) : await sqliteFaults(db)
  return storageFaults.flatMap((told) => {
    const of = faults.filter(({ name }) => name === told.name)
    return of.map(({ what }) => ({ ...told, count: of.length, example: what })).slice(0, 1)
  })
}

const storageFaults = [
  {
    name: 'row-orphaned',
    fault: 'a row refers to one that does not exist, such as a grant without its user or app',
    cure: 'delete the row, or restore a backup',
  },
  {
    name: 'page-damaged',
    fault: 'the database file is damaged, or a row breaks a constraint of its table',
    cure: 'fix the row; if the file is damaged, gatehouse restore with the last good backup',
  },
  {
    name: 'trigger-foreign',
    fault: 'the service makes no triggers, rules, views or policies, and this one can change, drop or hide what it writes',
    cure: 'find out who made it, drop it, and restart the servers, since statements that they have prepared may still follow a rule',
  },
  {
    name: 'index-invalid',
    fault: 'an index was not completed, so it is not used and does not enforce uniqueness',
    cure: 'reindex index concurrently',
  },
] as const

interface Found {
  name: (typeof storageFaults)[number]['name']
  what: string
}

/** Someone who reads the tables may have views of their own. Only one in the place of such a table can hide events. */
const replaceable = "('audit_events', 'audit_batches', 'audit_chain', 'audit_checkpoints')"
const sqliteTriggers = `select type || ' ' || name || ' on ' || tbl_name as what from sqlite_master
  where type = 'trigger' or (type = 'view' and name in ${replaceable})`
const postgresTriggers = `
  select 'trigger ' || t.tgname || ' on ' || c.relname as what from pg_trigger t join pg_class c on c.oid = t.tgrelid
  where not t.tgisinternal and c.relnamespace = current_schema()::regnamespace
  union all
  select 'rule ' || r.rulename || ' on ' || c.relname from pg_rewrite r join pg_class c on c.oid = r.ev_class
  where c.relnamespace = current_schema()::regnamespace and (r.rulename <> '_RETURN' or c.relname in ${replaceable})
  union all
  select 'policy ' || policyname || ' on ' || tablename from pg_policies where schemaname = current_schema()`

async function sqliteFaults(db: Db): Promise<Found[]> {
  const orphans = await rowsIn<{ table: string; rowid: number | null; parent: string }>(db.raw('pragma foreign_key_check'))
  const pages = await rowsIn<{ integrity_check: string }>(db.raw('pragma integrity_check(100)'))
  const triggers = await rowsIn<{ what: string }>(db.raw(sqliteTriggers))
  return [
    ...triggers.map(({ what }): Found => ({ name: 'trigger-foreign', what })),
    ...orphans.map(
      ({ table, rowid, parent }): Found => ({ name: 'row-orphaned', what: `${table} ${rowid ?? ''} without ${parent}` }),
    ),
    ...pages
      .filter(({ integrity_check }) => integrity_check !== 'ok')
      .map(({ integrity_check: what }): Found => ({ name: 'page-damaged', what })),
  ]
}

interface ForeignKey {
  child: string
  column: string
  parent: string
  key: string
}

const foreignKeys = `
  select c.conrelid::regclass::text as child, a.attname as column, c.confrelid::regclass::text as parent, k.attname as key
  from pg_constraint c
  join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
  join pg_attribute k on k.attrelid = c.confrelid and k.attnum = c.confkey[1]
  where c.contype = 'f' and c.connamespace = current_schema()::regnamespace`
const invalidIndexes = `
  select c.relname as what from pg_index i join pg_class c on c.oid = i.indexrelid
  where not i.indisvalid and c.relnamespace = current_schema()::regnamespace`

async function postgresFaults(db: Db): Promise<Found[]> {
  const found: Found[] = []
  for (const { child, column, parent, key } of await rowsIn<ForeignKey>(db.raw(foreignKeys))) {
    // Postgres enforces its foreign keys, unless an operator has disabled the triggers.
    const orphans = await rowsIn<{ what: string }>(
      db.raw(`select cast(c.${column} as text) as what from ${child} c
        where c.${column} is not null and not exists (select 1 from ${parent} p where p.${key} = c.${column})`),
    )
    found.push(...orphans.map(({ what }): Found => ({ name: 'row-orphaned', what: `${child} of ${parent} ${what}` })))
  }
  const invalid = await rowsIn<{ what: string }>(db.raw(invalidIndexes))
  const triggers = await rowsIn<{ what: string }>(db.raw(postgresTriggers))
  return [
    ...found,
    ...triggers.map(({ what }): Found => ({ name: 'trigger-foreign', what })),
    ...invalid.map(({ what }): Found => ({ name: 'index-invalid', what })),
  ]
}

/** Postgres returns an object, SQLite the rows. */
export async function rowsIn<Row>(query: PromiseLike<Row[] | { rows: Row[] }>): Promise<Row[]> {
  const answer = await query
  return Array.isArray(answer) ? answer : answer.rows
}
