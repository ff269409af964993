/** Whether a token that ends at this time would have expired on arrival. The times of a token are whole seconds. */
export function isTooSoon(ms: number, now: number): boolean {
  return ms - now < 1_000
}

/** Milliseconds as stored → ISO 8601 UTC as shown. */
export function iso(ms: number): string {
  return new Date(ms).toISOString()
}

export function isoOrNull(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : iso(ms)
}
