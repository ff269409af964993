import { Failure } from './exit-codes.ts'

const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** Reads `90s`, `12h` or `30d` as milliseconds. Undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d|w)$/.exec(text)
  const [, count, unit = ''] = match ?? []
  const each = unitMs[unit]
  return each === undefined ? undefined : Number(count) * each
}

const isoForm = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

/** Reads ISO 8601 with a zone, a day (its start in UTC), or a duration from or before `now`. Undefined for anything else. */
export function parseMoment(text: string, now: number, direction: 'from now' | 'ago' = 'from now'): string | undefined {
  const distance = parseDuration(text)
  const sign = direction === 'ago' ? -1 : 1
  const time = distance === undefined ? (isoForm.test(text) ? Date.parse(text) : Number.NaN) : now + sign * distance
  return Number.isNaN(time) || Math.abs(time) > 8.64e15 ? undefined : new Date(time).toISOString()
}

/** The value of `--expires` that removes an end. */
export const noExpiry = 'never'

/** Reads the value of `--expires`: null for `never`. Throws `invalid_time` if it is neither that nor a moment. */
export function parseExpiry(text: string, now: number): string | null {
  if (text === noExpiry) return null
  const moment = parseMoment(text, now)
  if (moment !== undefined) return moment
  throw new Failure('invalid', `--expires ${text} is not a valid time`, {
    code: 'invalid_time',
    hint: 'such as 2027-01-31, 2027-01-31T18:00:00Z, 30d or never',
  })
}

/** Reads a moment of the past, such as the value of `--since`. Throws `invalid_time` if it is not a moment. */
export function parsePast(flag: string, text: string | undefined, now: number): string | undefined {
  if (text === undefined) return undefined
  const moment = parseMoment(text, now, 'ago')
  if (moment !== undefined) return moment
  throw new Failure('invalid', `${flag} ${text} is not a valid time`, {
    code: 'invalid_time',
    hint: 'such as 1h, 7d, 2026-12-31 or 2026-12-31T18:00:00Z',
  })
}
