/** Splits a list into parts of at most `size`. SQLite takes 500 rows per insert, 32,766 values per statement; Postgres 65,535. */
export function chunksOf<T>(list: readonly T[], size = 500): T[][] {
  const chunks: T[][] = []
  for (let start = 0; start < list.length; start += size) chunks.push(list.slice(start, start + size))
  return chunks
}
