import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf } from '../api/api-client.ts'

export type Stats = components['schemas']['Stats']

/** Reads the figures of the service. Logins are counted from `since`. */
export async function readStats(api: Api, since: string | undefined): Promise<Stats> {
  return bodyOf(api.GET('/api/v1/admin/stats', { params: { query: since === undefined ? {} : { since } } }))
}

/** How many seconds the oldest message has waited, retries included. An older service only tells how long one is due. */
export function ageOf({ oldest_pending_seconds: age, oldest_due_seconds: due }: Stats['outbox'][number]): number {
  return age ?? due
}

/** How many logins succeeded, and how many were refused. */
export function loginTotals({ logins }: Stats): { succeeded: number; failed: number } {
  const total = (of: 'succeeded' | 'failed') => logins.steps.reduce((sum, step) => sum + step[of], 0)
  return { succeeded: total('succeeded'), failed: total('failed') }
}
