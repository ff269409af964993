// Measures how long a registration takes while all receivers of its three webhooks hang, and without webhooks:
// two servers in turns, one request at a time.
import { randomBytes } from 'node:crypto'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Children } from '../../scripts/children.ts'
import { createDatabase, type DatabaseKind, prepareTemplates } from '../support/database.ts'
import { record } from './support/results.ts'

const REGISTRATIONS = 100
const WARM_UP = 10
const WEBHOOKS = 3
const BOUND = 1.1

const gatehouse = fileURLToPath(new URL('../../packages/server/dist/gatehouse.js', import.meta.url))
const password = 'correct horse battery staple'
const email = 'admin@example.com'
const settings = {
  PORT: '0',
  // The lowest cost that production accepts: with the cheapest hash, the cost of webhooks shows most.
  AUTH_BCRYPT_COST: '10',
  AUTH_RATE_LIMIT_IP: 'off',
  JWT_ACCESS_SECRET: randomBytes(32).toString('base64'),
  AUTH_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  AUTH_BOOTSTRAP_ADMIN_EMAIL: email,
  AUTH_BOOTSTRAP_ADMIN_PASSWORD: password,
  LOG_LEVEL: 'info',
}

const kinds: DatabaseKind[] = ['sqlite', 'postgres']
const children = new Children()
const { templates, stop } = await prepareTemplates(kinds)
const receiver = await startHanging()
try {
  for (const kind of kinds) await compare(kind)
} finally {
  await children.stopAll()
  receiver.close()
  await stop()
}

async function compare(kind: DatabaseKind): Promise<void> {
  const webhooks = Array.from({ length: WEBHOOKS }, (_, index) => ({ name: `w${index}`, url: `${receiver.url}/${index}` }))
  const plain = { url: await startServer(kind, []), times: [] as number[] }
  const hooked = { url: await startServer(kind, webhooks), times: [] as number[] }
  for (let turn = 0; turn < WARM_UP + REGISTRATIONS; turn += 1) {
    for (const side of turn % 2 === 0 ? [plain, hooked] : [hooked, plain]) {
      const ms = await register(side.url)
      if (turn >= WARM_UP) side.times.push(ms)
    }
  }
  const [without, hanging] = [median(plain.times), median(hooked.times)]
  console.log(`${kind}: ${receiver.open()} attempts under way at the end`)
  const what = `registration while ${WEBHOOKS} receivers hang, ${kind}`
  record({ what, beside: 'without webhooks', ours: hanging, peer: without, unit: 'ms', better: 'lower', bound: BOUND })
}

async function startServer(kind: DatabaseKind, webhooks: object[]): Promise<string> {
  const database = await createDatabase(kind, templates)
  const child = children.start('node', [gatehouse, 'serve'], { ...settings, DATABASE_URL: database.url })
  const url = await children.waitForLine(child, (line) => (JSON.parse(line) as { url?: string }).url)
  const { access_token } = await post(url, '/auth/login', { email, password, app_code: 'authctl' })
  await post(url, '/admin/apps', { code: 'bench', name: 'Bench', auto_grant_on_signup: true, webhooks }, access_token)
  return url
}

async function register(url: string): Promise<number> {
  const body = { email: `${randomBytes(8).toString('hex')}@example.com`, password, app_code: 'bench' }
  const started = performance.now()
  await post(url, '/auth/register', body)
  return performance.now() - started
}

async function post(url: string, path: string, body: object, token?: string): Promise<{ access_token?: string }> {
  const reply = await fetch(`${url}/api/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body: JSON.stringify(body),
  })
  if (!reply.ok) throw new Error(`${path} answered ${reply.status} ${await reply.text()}`)
  return (await reply.json()) as { access_token?: string }
}

/** Accepts every connection, reads everything, and never answers. */
async function startHanging(): Promise<{ url: string; open(): number; close(): void }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open: () => sockets.size,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

function median(times: number[]): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]!
}
