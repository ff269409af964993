import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, type Pages, pages } from '../api/api-client.ts'

export type Lockout = components['schemas']['Lockout']

/** Reads the counters of failed logins, or with `locked` only those that lock. */
export async function* lockoutsIn(
  api: Api,
  { locked, limit = Number.POSITIVE_INFINITY }: { locked: boolean; limit?: number | undefined },
): Pages<Lockout> {
  let left = limit
  const all = pages((query) => bodyOf(api.GET('/api/v1/admin/lockouts', { params: { query } })))
  for await (const page of all) {
    const chosen = page.filter(({ locked_until }) => !locked || locked_until !== null).slice(0, left)
    left -= chosen.length
    yield chosen
    if (left === 0) return
  }
}

/** What a counter belongs to: an address, a second factor or a device. */
export function kindOfLockout({ key, pool }: Lockout): string {
  if (pool !== null) return 'address'
  return key.startsWith('two-factor:') ? 'second factor' : 'device'
}
