// Sends requests that fetch would not: unchanged paths, chunked bodies, and headers that fetch sets itself.
import { Agent, request } from 'node:http'
import type { Reply } from './service.ts'

export interface RawOptions {
  headers?: Record<string, string | string[]>
  /** Sent as they are, with chunked encoding unless a header states their length. */
  chunks?: readonly (string | Uint8Array)[]
}

const agent = new Agent({ keepAlive: true })

/** Sends one HTTP/1.1 request exactly as given. */
export async function rawCall(origin: string, method: string, path: string, options: RawOptions = {}): Promise<Reply> {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, method, path, headers: options.headers ?? {}, agent }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(parts).toString()
        const headers = new Headers(
          Object.entries(response.headers).flatMap(([name, value]) =>
            value === undefined ? [] : [[name, String(value)] as [string, string]],
          ),
        )
        const isJson = headers.get('content-type')?.startsWith('application/json') ?? false
        resolve({ status: response.statusCode ?? 0, body: isJson && text !== '' ? JSON.parse(text) : text, headers })
        // If the server answers before it has read everything, stop sending.
        if (!sent.writableFinished) sent.destroy()
      })
    })
    sent.on('error', reject)
    // By default, Node sends a DELETE with neither a length nor chunks.
    if (options.chunks) sent.useChunkedEncodingByDefault = true
    for (const chunk of options.chunks ?? []) sent.write(chunk)
    sent.end()
  })
}
