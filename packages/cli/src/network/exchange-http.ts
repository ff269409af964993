import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http'

export interface HttpRequest {
  method: string
  url: string
  headers: Record<string, string>
  body?: string | Uint8Array | undefined
  /** Aborts the exchange, even while the answer is being read. */
  signal: AbortSignal
}

export interface HttpAnswer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** The body as it was sent. */
  bytes: Uint8Array
}

/**
 * Sends one HTTP request. Returns the answer whatever its status, also a redirect. Throws the system's error if there is none, or
 * the reason of the signal. `fetch` would do the same, but loading it takes longer than the rest of a command.
 */
export async function exchangeHttp({ method, url, headers, body, signal }: HttpRequest): Promise<HttpAnswer> {
  // Importing these modules by name would evaluate all their exports, which also loads `fetch`.
  const { request } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http')
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url, { method, headers, signal }, resolve).once('error', reject).end(body)
    })
    const chunks: Buffer[] = []
    for await (const chunk of answer) chunks.push(chunk)
    const bytes = Buffer.concat(chunks)
    return { status: answer.statusCode ?? 0, headers: answer.headers, text: bytes.toString(), bytes }
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  }
}

/** The port of a server that listens on this machine. */
export function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port')
  return address.port
}
