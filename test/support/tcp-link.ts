// A network link that can be interrupted as by a partition: no data passes, and neither side gets an error.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface TcpLink {
  /** Leads to the target. */
  port: number
  /** If interrupted, no data passes, over new connections either. Otherwise data passes again, including what waited. */
  interrupt(isInterrupted: boolean): void
  close(): void
}

export async function startTcpLink(target: number): Promise<TcpLink> {
  let isInterrupted = false
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const onward = connect(target, '127.0.0.1')
    for (const [socket, partner] of [
      [client, onward],
      [onward, client],
    ] as const) {
      sockets.add(socket)
      socket.on('data', (chunk) => void partner.write(chunk))
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        partner.destroy()
      })
      if (isInterrupted) socket.pause()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    interrupt(interrupted) {
      isInterrupted = interrupted
      for (const socket of sockets) interrupted ? socket.pause() : socket.resume()
    },
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
