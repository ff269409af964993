/** What the service adds to the address that the user comes back to from a provider: `code` or `error`. */
export interface SsoAnswer {
  readonly state: string
  readonly code: string | undefined
  readonly error: string | undefined
}

/** Returns the answer in an address, or undefined if there is none. */
export function readSsoAnswer(url: string): SsoAnswer | undefined {
  if (!URL.canParse(url)) return undefined
  const { state, code, error } = Object.fromEntries(new URL(url).searchParams)
  return state && (code || error) ? { state, code: error ? undefined : code, error } : undefined
}
