import type { Model, QueryBuilder } from 'objection'
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
  const pattern = `%${text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()).replace(/[\\%_]/g, '\\$&')}%`
  const postgres = isPostgres(query.knex())
  // Both fold only ASCII, so the databases agree. Without "C", Postgres would fold by its locale.
  const folded = (column: string) => (postgres ? `lower(${column} collate "C")` : `lower(${column})`)
  query.where((any) => {
    for (const column of columns) any.orWhereRaw(`${folded(column)} like ? escape '\\'`, [pattern])
  })
}
