/** A list in parts of at most `size`. SQLite takes 500 rows in one insert; a statement takes 32,766 values there and 65,535 on Postgres. */
export function chunksOf<T>(list: readonly T[], size = 500): T[][] {
  const chunks: T[][] = []
  for (let start = 0; start < list.length; start += size) chunks.push(list.slice(start, start + size))
  return chunks
}
