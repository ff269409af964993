import { type Api, bodyOf, type Pages, pages, readAll } from '../api/api-client.ts'
import type { Tools } from '../tools/create-tools.ts'
import { nearestName } from './nearest-name.ts'

/** The names of all pools that a user or an app uses. */
async function listPoolNames(api: Api): Promise<string[]> {
  const all = await readAll(pages((query) => bodyOf(api.GET('/api/v1/admin/namespaces', { params: { query } }))))
  return all.map(({ namespace }) => namespace)
}

/** The name of the pool that everyone is in if nothing else is said. */
const plainPool = 'default'

/**
 * Says which of these pools the command makes. A mistyped name is no error: it makes a new pool, whose users no other app finds.
 */
export async function noteNewPools(
  { api, io }: Pick<Tools, 'api' | 'io'>,
  typed: readonly (string | undefined)[],
): Promise<void> {
  const named = [...new Set(typed)].filter((name) => name !== undefined && name !== '' && name !== plainPool)
  if (named.length === 0) return
  const known = await listPoolNames(api)
  for (const name of named) {
    if (name !== undefined && !known.includes(name))
      io.note(`${name} is a new pool: no user and no app uses it yet${nearestName(name, known)}`)
  }
}

/** Passes the pages on. If they are empty, says so if no user and no app uses the pool that they were filtered by. */
export async function* noteUnknownPool<T>(
  { api, io }: Pick<Tools, 'api' | 'io'>,
  pool: string | undefined,
  filtered: Pages<T>,
): Pages<T> {
  let isEmpty = true
  for await (const page of filtered) {
    if (page.length > 0) isEmpty = false
    yield page
  }
  if (pool === undefined || !isEmpty) return
  const known = await listPoolNames(api)
  if (!known.includes(pool)) io.note(`no user and no app uses the pool ${pool}${nearestName(pool, known)}`)
}
