// No request waits for what the service sends. Receivers and mail servers that accept a connection and
// never answer do not slow down anything else.
import { randomUUID } from 'node:crypto'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { atOnce } from '../support/chance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, PASSWORD } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { measured, quantile, sized } from '../support/fault.ts'
import { startPatientClock } from '../support/patient-clock.ts'
import { countFiles } from '../support/process-figures.ts'
import { hang, startReceiver } from '../support/receiver.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'

const batches = sized(8, 60)
const batchSize = 10
const deliveryMs = 5_000
/** The maximum number of simultaneous attempts for one destination. */
const attemptsAtOnce = 64

/** Starts a server that accepts connections and never answers. */
async function startSilence(): Promise<{ port: number; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, sockets }
}

/** Registers users at an app and returns the times in milliseconds. */
async function registerAll(server: ServerProcess, app: string): Promise<number[]> {
  const times: number[] = []
  for (let batch = 0; batch < batches; batch += 1) {
    await atOnce(batchSize, async () => {
      const started = performance.now()
      const body = { email: `${randomUUID()}@example.com`, password: PASSWORD, app_code: app }
      expect((await server.call('POST', '/auth/register', { body })).status).toBe(201)
      times.push(performance.now() - started)
    })
  }
  return times
}

test('registrations go on if receivers and a mail server hang, and other webhooks are delivered within 5 s', {
  timeout: 300_000,
}, async (context) => {
  const database = await createDatabase('postgres')
  onTestFinished(() => database.drop())
  const mailServer = await startSilence()
  const deaf = await startReceiver(hang)
  const well = await startReceiver()
  const server = await startServer({
    DATABASE_URL: database.url,
    ...bootstrapAdmin,
    SMTP_URL: `smtp://127.0.0.1:${mailServer.port}`,
  })
  const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  for (const [code, url] of [
    ['plain', undefined],
    ['deaf', deaf.url],
    ['well', well.url],
  ] as const) {
    const body = { code, name: code, webhooks: url === undefined ? [] : [{ name: 'crm', url }] }
    expect((await server.call('POST', '/admin/apps', { token, body })).status).toBe(201)
  }
  await registerAll(server, 'plain')
  const before = await registerAll(server, 'plain')
  const hanging = await registerAll(server, 'deaf')
  await expect.poll(() => deaf.unanswered(), { interval: 20 }).toBeGreaterThan(0)
  await expect.poll(() => mailServer.sockets.size, { interval: 20 }).toBeGreaterThan(0)

  const clock = startPatientClock()
  const body = { email: `${randomUUID()}@example.com`, password: PASSWORD, app_code: 'well' }
  expect((await server.call('POST', '/auth/register', { body })).status).toBe(201)
  await expect.poll(() => well.requests.length, { interval: 10 }).toBe(1)
  const delivered = clock()
  expect(delivered).toBeLessThan(deliveryMs)

  const db = createKnex({ databaseUrl: database.url, dbPoolMax: 1 })
  onTestFinished(() => db.destroy())
  // Nothing is lost: each registration at the deaf app has an undelivered event, and each user has a pending mail.
  const count = async (where: Record<string, string>) => Number((await db('outbox').where(where).count({ n: '*' }))[0]!.n)
  // The receiver gets the event a moment before its answer is recorded.
  await expect.poll(() => count({ kind: 'webhook', status: 'delivered' }), { interval: 10 }).toBe(1)
  expect(await count({ kind: 'webhook' })).toBe(batches * batchSize + 1)
  expect(await count({ kind: 'mail', status: 'delivered' })).toBe(0)
  const files = countFiles(server.pid)
  const median = (times: number[]) => Math.round(quantile(times, 0.5))
  measured(
    context,
    `median of ${before.length} registrations ${median(before)} ms before, ${median(hanging)} ms while all hang; a webhook to a receiver that is well after ${Math.round(delivered)} ms; ${deaf.open()} connections to the deaf one, ${files} descriptors in all`,
  )
  expect(deaf.open()).toBeLessThanOrEqual(attemptsAtOnce)
  expect((await server.stop()).code).toBe(0)
})
