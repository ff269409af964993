import type { Model, QueryBuilder, TransactionOrKnex } from 'objection'
import { isPostgres } from '../db/handle.ts'
import { nameKeyOf, type Page, type PageRequest, pageOf, rowsToRead } from '../lib/keyset.ts'

/** Reads one page of a query by keyset over an id, newest first: UUIDv7 sort by their creation. */
export async function withPage<M extends Model & { id: string }>(
  query: QueryBuilder<M, M[]>,
  request: PageRequest,
  idColumn: string,
): Promise<Page<M>> {
  const rows: M[] = await pageOrder(query, request, idColumn)
  return pageOf(rows, request, (row) => row.id)
}

/** Adds the order and the bounds of such a page. `idColumn` may belong to another table that the query joins by the id. */
export function pageOrder<M extends Model>(
  query: QueryBuilder<M, M[]>,
  request: PageRequest,
  idColumn: string,
): QueryBuilder<M, M[]> {
  if (request.cursor !== undefined) query.where(idColumn, '<', request.cursor)
  return query.orderBy(idColumn, 'desc').limit(rowsToRead(request))
}

/** Reads one page of a query by keyset over a name or code, in the order of code points on both databases. */
export async function withPageByName<M extends Model, K extends keyof M & string>(
  query: QueryBuilder<M, M[]>,
  request: PageRequest,
  column: K,
): Promise<Page<M>> {
  const ordered = isPostgres(query.knex()) ? '?? collate "C"' : '??'
  if (request.cursor !== undefined) query.whereRaw(`${ordered} > ?`, [column, request.cursor])
  const rows: M[] = await query.orderByRaw(ordered, [column]).limit(rowsToRead(request))
  return pageOf(rows, request, (row) => nameKeyOf(String(row[column])))
}

/** Narrows to rows in which one of the columns contains the text, ignoring ASCII case. `%` and `_` are plain characters. */
export function whereContains<M extends Model>(query: QueryBuilder<M, M[]>, columns: readonly string[], text: string): void {
  query.whereRaw(...anyLike(query.knex(), columns, `%${literal(text)}%`))
}

/** A search finds at most this many rows first, before it looks which of them are on the page. */
const mostFoundFirst = 200

/**
 * Like `whereContains`, for a table that grows with the users. A text that an index of three-letter pieces cannot find must be the
 * beginning of a column: one of one or two letters, and on Postgres without that index, any text.
 */
export async function whereFound<M extends Model>(
  query: QueryBuilder<M, M[]>,
  { table, alias = table, columns }: { table: string; alias?: string; columns: readonly string[] },
  text: string,
): Promise<void> {
  const db = query.knex()
  const isInside = text.length >= 3 && (await findsPieces(db))
  const pattern = `${isInside ? '%' : ''}${literal(text)}%`
  if (isPostgres(db)) {
    // Postgres does not know how rare a text is. With the order and the limit of a page in the same statement, it may look for the
    // text in all rows, newest first. Materialized, so that the limit does not make this a look at all rows either.
    const held = db(table)
      .select('id')
      .whereRaw(...anyLike(db, columns, pattern))
    const ids: string[] = await db
      .withMaterialized('held', held)
      .from('held')
      .limit(mostFoundFirst + 1)
      .pluck('id')
    if (ids.length <= mostFoundFirst) return void query.whereRaw('?? = any(?::uuid[])', [`${alias}.id`, ids])
  }
  const named = columns.map((column) => `${alias}.${column}`)
  query.whereRaw(...anyLike(db, named, pattern))
}

/**
 * Whether a search finds a text inside a name. On Postgres that needs the extension `pg_trgm`, which the first migration looks for.
 */
export async function findsPieces(db: TransactionOrKnex): Promise<boolean> {
  return !isPostgres(db) || (await db('pg_class').where('oid', db.raw("to_regclass('users_search')")).first('oid')) !== undefined
}

function literal(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()).replace(/[\\%_]/g, '\\$&')
}

function anyLike(db: TransactionOrKnex, columns: readonly string[], pattern: string): [sql: string, bindings: string[]] {
  // Both databases fold only ASCII, so they agree. Without "C", Postgres would fold by its locale.
  const folded = isPostgres(db) ? 'lower(?? collate "C")' : 'lower(??)'
  const one = `${folded} like ? escape '\\'`
  return [`(${columns.map(() => one).join(' or ')})`, columns.flatMap((column) => [column, pattern])]
}
