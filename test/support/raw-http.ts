// Requests that fetch would not send: paths as they are, chunked bodies, headers of its own choosing.
import { Agent, request } from 'node:http'
import type { Reply } from './service.ts'

export interface RawOptions {
  headers?: Record<string, string | string[]>
  /** Sent as they are; chunked unless a header says how long they are. */
  chunks?: readonly (string | Uint8Array)[]
}

const agent = new Agent({ keepAlive: true })

/** One HTTP/1.1 request to a server, without any help. */
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
        // A server that answers before it has read everything is not talked to any more.
        if (!sent.writableFinished) sent.destroy()
      })
    })
    sent.on('error', reject)
    // For a DELETE, Node would send neither a length nor chunks.
    if (options.chunks) sent.useChunkedEncodingByDefault = true
    for (const chunk of options.chunks ?? []) sent.write(chunk)
    sent.end()
  })
}
