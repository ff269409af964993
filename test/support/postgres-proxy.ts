// A proxy between a server and its Postgres. It can drop notifications, freeze or cut connections, and count round trips.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

const headerBytes = 5
const notificationType = 'A'.charCodeAt(0)
const readyForQueryType = 'Z'.charCodeAt(0)

export interface PostgresProxy {
  /** The URL of the same database through the proxy. */
  url: string
  /** Drops notifications from now on, or lets them pass again. */
  mute(isMuted: boolean): void
  /**
   * If frozen, connections stay open and new ones are accepted, but no data passes.
   * Otherwise data passes again, including what waited.
   */
  freeze(isFrozen: boolean): void
  /** Cuts all connections. With `andRefuse`, refuses new ones until `accept`. */
  cut(options?: { andRefuse?: boolean }): void
  accept(): void
  /** How often Postgres has reported that it is ready for the next statement: once for each that a client waited for. */
  roundTrips(): number
}

export async function startPostgresProxy(
  databaseUrl: string,
  onEnd: (fn: () => Promise<void>) => void = onTestFinished,
): Promise<PostgresProxy> {
  const target = new URL(databaseUrl)
  const folder = target.searchParams.get('host')
  const dial = () =>
    folder ? connect(join(folder, `.s.PGSQL.${target.port || 5432}`)) : connect(Number(target.port || 5432), target.hostname)
  let isMuted = false
  let isRefusing = false
  let isFrozen = false
  let roundTrips = 0
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    if (isRefusing) return client.destroy()
    const upstream = dial()
    for (const [socket, partner] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      if (isFrozen) socket.pause()
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        partner.destroy()
      })
    }
    client.on('data', (chunk) => upstream.write(chunk))
    let rest = Buffer.alloc(0)
    upstream.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk])
      while (rest.length >= headerBytes) {
        const end = 1 + rest.readInt32BE(1)
        if (rest.length < end) break
        if (rest[0] === readyForQueryType) roundTrips += 1
        if (!(isMuted && rest[0] === notificationType)) client.write(rest.subarray(0, end))
        rest = rest.subarray(end)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cutAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  onEnd(async () => {
    cutAll()
    server.close()
  })
  const url = new URL(target)
  url.searchParams.delete('host')
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    mute(muted) {
      isMuted = muted
    },
    freeze(frozen) {
      isFrozen = frozen
      for (const socket of sockets) frozen ? socket.pause() : socket.resume()
    },
    cut({ andRefuse = false } = {}) {
      isRefusing = andRefuse
      cutAll()
    },
    accept() {
      isRefusing = false
    },
    roundTrips: () => roundTrips,
  }
}
