import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { gracefulClose } from './connections.ts'

const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

async function buildServer() {
  const server = createServer((_, response) => response.end('served'))
  const close = gracefulClose(server, 25_000)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.closeAllConnections())
  return { server, close, open: () => connect((server.address() as AddressInfo).port, '127.0.0.1') }
}

/** Everything that a socket receives until it ends, or the message of the error that ended it. */
async function readToEnd(socket: Socket): Promise<string> {
  let received = ''
  socket.setEncoding('utf8').on('data', (text) => {
    received += text
  })
  const failed = new Promise<string>((resolve) => socket.once('error', ({ message }) => resolve(message)))
  return Promise.race([once(socket, 'end').then(() => received), failed])
}

/** Blocks the whole process: no timer runs, and nothing is read from a socket. */
function holdUp(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

test('connections that wait in the queue of the kernel are answered', async () => {
  const { close, open } = await buildServer()
  const sockets = Array.from({ length: 30 }, open)
  const answers = sockets.map((socket) => readToEnd(socket))
  for (const socket of sockets) socket.write(request)
  // They connect before the next turn of the event loop, and the server accepts one connection per turn.
  await new Promise((resolve) => process.nextTick(resolve))
  const closed = close()
  for (const answer of await Promise.all(answers)) expect(answer).toContain('served')
  await closed
})

test('a request on a connection that was idle for long is answered, even while the server closes', async () => {
  const { server, close, open } = await buildServer()
  const kept = open()
  kept.write(request)
  await once(kept, 'data')
  const silent = open()
  await once(server, 'connection')
  const closed = close()
  while (server.listening) await nextTurn()
  const answers = [kept, silent].map((socket) => readToEnd(socket))
  for (const socket of [kept, silent]) socket.write(request)
  holdUp(700)
  for (const answer of await Promise.all(answers)) expect(answer).toContain('served')
  await closed
})
