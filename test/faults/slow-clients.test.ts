// Clients that send only a byte now and then occupy a connection and nothing else. The server cuts them off: after 10 seconds for
// headers, and after 30 for whole requests.
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { ADMIN_EMAIL, bootstrapAdmin } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { measured, quantile, sized } from '../support/fault.ts'
import { startPatientClock } from '../support/patient-clock.ts'
import { countFiles, residentMiB, tellsOfProcesses } from '../support/process-figures.ts'
import { startServer } from '../support/server-process.ts'

const clientsOfEachKind = sized(100, 1_000)
const dripMs = 250
/** The time limit, plus a few seconds until the server next looks for expired connections. */
const headersEndMs = 10_000 + 5_000
const requestEndMs = 30_000 + 5_000
/** Memory that one client may cost, without kernel buffers. */
const kibPerClient = 100

interface Dripper {
  kind: keyof typeof heads
  /** What it has received from the server. */
  answer: string
  endedAfterMs: number | undefined
}

const heads = {
  nothing: '',
  headers: 'POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nX-Slow: ',
  body: 'POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{',
}
const endMs = { nothing: headersEndMs, headers: headersEndMs, body: requestEndMs }

function startDripper(url: string, kind: Dripper['kind']): Dripper {
  const clock = startPatientClock()
  const socket: Socket = connect(Number(new URL(url).port), '127.0.0.1')
  const dripper: Dripper = { kind, answer: '', endedAfterMs: undefined }
  socket.write(heads[kind])
  const drip = setInterval(() => kind !== 'nothing' && socket.writable && socket.write('x'), dripMs)
  socket.setEncoding('utf8').on('data', (text) => {
    dripper.answer += text
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    clearInterval(drip)
    dripper.endedAfterMs = clock()
  })
  onTestFinished(() => void socket.destroy())
  return dripper
}

test('clients that drip headers, bodies or nothing are cut in time with 408, delay nobody and cost little memory', {
  timeout: 120_000,
}, async (context) => {
  const database = await createDatabase('sqlite')
  onTestFinished(() => database.drop())
  const settings = { ...bootstrapAdmin }
  const server = await startServer({ DATABASE_URL: database.url, ...settings })
  const { access_token: token } = (await server.login(ADMIN_EMAIL, 'authctl')).body
  const look = async () => {
    const started = performance.now()
    expect((await server.call('GET', '/auth/me', { token })).status).toBe(200)
    return performance.now() - started
  }
  const alone: number[] = []
  for (let index = 0; index < 200; index += 1) alone.push(await look())
  const atRest = { files: countFiles(server.pid), mib: tellsOfProcesses ? residentMiB(server.pid) : 0 }

  const kinds = sized(['nothing', 'headers'], ['nothing', 'headers', 'body']) as Dripper['kind'][]
  const drippers = kinds.flatMap((kind) => Array.from({ length: clientsOfEachKind }, () => startDripper(server.url, kind)))
  const beside: number[] = []
  let mostMiB = atRest.mib
  while (drippers.some(({ endedAfterMs }) => endedAfterMs === undefined)) {
    beside.push(await look())
    if (tellsOfProcesses) mostMiB = Math.max(mostMiB, residentMiB(server.pid))
    await sleep(25)
  }
  for (const { kind, answer, endedAfterMs } of drippers) {
    expect(endedAfterMs, kind).toBeLessThan(endMs[kind])
    expect(answer, kind).toMatch(/^HTTP\/1\.1 408 .*"code":"request_timeout"/s)
  }
  await expect.poll(() => countFiles(server.pid), { interval: 20 }).toBeLessThanOrEqual(atRest.files + 2)
  const grown = mostMiB - atRest.mib
  if (tellsOfProcesses) expect(grown).toBeLessThan(60 + (drippers.length * kibPerClient) / 1_024)
  const last = (kind: string) =>
    Math.max(...drippers.filter((each) => each.kind === kind).map(({ endedAfterMs }) => endedAfterMs!))
  const cuts = kinds.map((kind) => `${kind} after ${(last(kind) / 1_000).toFixed(1)} s`).join(', ')
  const median = (times: number[]) => quantile(times, 0.5).toFixed(1)
  measured(
    context,
    `${drippers.length} clients, all cut: ${cuts}; GET /auth/me meanwhile ${median(beside)} ms (alone ${median(alone)} ms) at the median; ${Math.round(grown)} MiB more, descriptors back to ${countFiles(server.pid)}`,
  )
  expect((await server.stop()).code).toBe(0)
})
