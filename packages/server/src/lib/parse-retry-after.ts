const imfDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** Reads a `Retry-After` header (seconds or an HTTP date) as milliseconds from now. Undefined if it is missing or malformed. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  const at = imfDate.test(text) ? Date.parse(text) : Number.NaN
  return Number.isFinite(at) ? Math.max(0, at - now) : undefined
}
