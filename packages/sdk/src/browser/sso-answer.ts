/** What the service adds to the address that the user comes back to from a provider: `code` or `error`. */
export interface SsoAnswer {
  readonly state: string
  readonly code: string | undefined
  readonly error: string | undefined
}

/**
 * Returns the answer in an address, or undefined if there is none. An answer of the sign-in page, which has `iss`, is another one.
 */
export function readSsoAnswer(url: string): SsoAnswer | undefined {
  if (!URL.canParse(url)) return undefined
  const { state, code, error, iss } = Object.fromEntries(new URL(url).searchParams)
  return state && (code || error) && iss === undefined ? { state, code: error ? undefined : code, error } : undefined
}
