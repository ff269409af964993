import type { Model, QueryBuilder } from 'objection'
import { type Db, isPostgres } from '../db/handle.ts'
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
  whereLike(query, columns, `%${literal(text)}%`)
}

/**
 * Like `whereContains`, for a table that grows with the users. A text that an index of three-letter pieces cannot find must be the
 * beginning of a column: one of one or two letters, and on Postgres without that index, any text.
 */
export async function whereFound<M extends Model>(
  query: QueryBuilder<M, M[]>,
  columns: readonly string[],
  text: string,
): Promise<void> {
  const isInside = text.length >= 3 && (await findsPieces(query.knex() as Db))
  whereLike(query, columns, `${isInside ? '%' : ''}${literal(text)}%`)
}

/** Whether a search finds a text inside a name. On Postgres that needs the extension `pg_trgm`, which the first migration looks for. */
export async function findsPieces(db: Db): Promise<boolean> {
  return !isPostgres(db) || (await db('pg_class').where('oid', db.raw("to_regclass('users_search')")).first('oid')) !== undefined
}

function literal(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()).replace(/[\\%_]/g, '\\$&')
}

function whereLike<M extends Model>(query: QueryBuilder<M, M[]>, columns: readonly string[], pattern: string): void {
  // Both databases fold only ASCII, so they agree. Without "C", Postgres would fold by its locale.
  const folded = (column: string) => (isPostgres(query.knex()) ? `lower(${column} collate "C")` : `lower(${column})`)
  query.where((any) => {
    for (const column of columns) any.orWhereRaw(`${folded(column)} like ? escape '\\'`, [pattern])
  })
}
