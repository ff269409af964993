/** A request, as far as a session needs it. */
export interface Incoming {
  readonly method: string
  /** Absolute, or a path. The sender chooses the host in it, so that counts for nothing. */
  readonly url: string
  header(name: string): string | null | undefined
}

/** What to answer a browser with. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly cookies: readonly string[]
  readonly body: string
}

/** A shared cache would hand the cookies of one user to others. */
export const UNCACHED = { 'cache-control': 'private, no-store' }

/** The hint of a refusal. */
export const FOREIGN = 'the request comes from another site'

/** The path and query of a request. */
export function pathOf({ url }: Incoming): URL {
  return new URL(url.replace(/^(https?:\/\/[^/?#]*)?\/*/, '/'), 'http://localhost')
}

/**
 * Whether another site may have made the browser send this: its cookies then prove nothing. Reading is safe, except over a
 * WebSocket, which any site may open.
 */
export function isForeign({ method, header }: Incoming, origin: string): boolean {
  if (/^(GET|HEAD|OPTIONS)$/i.test(method) && !header('upgrade')) return false
  const site = header('sec-fetch-site')
  return site ? site !== 'same-origin' : header('origin') !== origin
}
