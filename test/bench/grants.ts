// Measures the wall time of the whole command `authctl grant add --from-file` for 500 users against a running server.
import { fileURLToPath } from 'node:url'
import { Children } from '../../scripts/children.ts'
import { createDatabase, type DatabaseKind, prepareTemplates } from '../support/database.ts'
import { record } from './support/results.ts'
import { ADMIN, call, cpuMs, median, PASSWORD, startGatehouse, usualSettings } from './support/server-under-test.ts'

const users = 500
const rounds = 5
const boundMs = 1_000

const authctl = fileURLToPath(new URL('../../packages/cli/dist/authctl.js', import.meta.url))
const emails = Array.from({ length: users }, (_, index) => `user-${index}@example.com`)
const children = new Children()
const { templates, stop } = await prepareTemplates(['sqlite', 'postgres'])
try {
  for (const kind of ['sqlite', 'postgres'] as const) await measure(kind)
} finally {
  await children.stopAll()
  await stop()
}

async function measure(kind: DatabaseKind): Promise<void> {
  const database = await createDatabase(kind, templates)
  const server = await startGatehouse(children, { ...usualSettings, DATABASE_URL: database.url })
  const login = { email: ADMIN, password: PASSWORD, app_code: 'authctl' }
  const { body } = await call(`${server.url}/api/v1/auth/login`, { body: login })
  const env = { AUTHCTL_BASE_URL: server.url, AUTHCTL_TOKEN: body.access_token }
  const run = async (words: string[], stdin: string) => {
    const { code, stdout, stderr } = await children.run('node', [authctl, ...words, '--json'], { env, stdin })
    if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}: ${stderr}`)
    return JSON.parse(stdout)
  }
  await run(['user', 'import', '-f', '-'], emails.map((email) => JSON.stringify({ email })).join('\n'))
  const times: number[] = []
  const serverTimes: number[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const app = `app-${round}`
    await run(['app', 'create', app, '--name', app], '')
    const [started, spent] = [performance.now(), cpuMs(server)]
    const { counts } = await run(['grant', 'add', '--app', app, '--from-file', '-'], emails.join('\n'))
    if (counts.granted !== users) throw new Error(`granted: ${JSON.stringify(counts)}`)
    // The first round only warms up the server.
    if (round === 0) continue
    times.push(performance.now() - started)
    serverTimes.push(cpuMs(server) - spent)
  }
  const what = `${users} grants from a file, ${kind}`
  record({ what, ours: median(times), unit: 'ms', better: 'lower', bound: boundMs })
  record({ what: `${what}, of the server`, ours: median(serverTimes), unit: 'ms CPU', better: 'lower' })
  await children.stopAll()
  await database.drop()
}
