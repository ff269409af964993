// How much processor time a command of `authctl` takes, all of its start included, beside a Node that does nothing. They run in turns.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { record } from './support/results.ts'
import { median } from './support/server-under-test.ts'

const rounds = 5
/** The kernel counts in steps of 10 ms, so that several runs are measured as one. */
const runsPerRound = 5

const authctl = fileURLToPath(new URL('../../packages/cli/dist/authctl.js', import.meta.url))
const nothing = ['-e', '0']
const home = mkdtempSync(join(tmpdir(), 'authctl-bench-'))
const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ items: apps, next_cursor: null }))
})
const apps = Array.from({ length: 50 }, (_, index) => ({
  ...{
    id: `01997c2f-0000-7000-8000-${String(index).padStart(12, '0')}`,
    code: `app-${index}`,
    name: `App ${index}`,
    status: 'active',
  },
  ...{
    registration_namespace: 'default',
    auto_grant_on_signup: false,
    sign_up: 'open',
    service_codes: [],
    created_at: '2026-11-20T12:00:00.000Z',
  },
}))

try {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const env = { PATH: process.env.PATH, HOME: home, AUTHCTL_TOKEN: 't', AUTHCTL_BASE_URL: `http://127.0.0.1:${port}` }
  await compare({ what: 'authctl --version', words: ['--version'], boundMs: 60 }, env)
  await compare({ what: 'authctl app list, 50 apps as a table', words: ['app', 'list', '-o', 'table'], boundMs: 100 }, env)
} finally {
  server.close()
  rmSync(home, { recursive: true, force: true })
}

async function compare(
  { what, words, boundMs }: { what: string; words: string[]; boundMs: number },
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const ours: number[] = []
  const peer: number[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const figures = [await cpuMsOf([authctl, ...words], env), await cpuMsOf(nothing, env)] as const
    // The first round fills the caches of the disk.
    if (round === 0) continue
    ours.push(figures[0])
    peer.push(figures[1])
  }
  // The bounds were set on a machine where Node itself takes 25 ms.
  const figure = { what, beside: 'node -e 0', unit: 'ms CPU', better: 'lower', bound: boundMs / 25 } as const
  record({ ...figure, ours: median(ours), peer: median(peer), ratio: median(ours.map((ms, index) => ms / peer[index]!)) })
}

/** The processor time of one run; that of the server here is not in it. */
async function cpuMsOf(words: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const before = childrenMs()
  for (let run = 0; run < runsPerRound; run += 1) {
    const child = spawn(process.execPath, words, { env, stdio: 'ignore' })
    const [exit] = await once(child, 'exit')
    if (exit !== 0) throw new Error(`${words.join(' ')} ended with ${exit}`)
  }
  return (childrenMs() - before) / runsPerRound
}

/** Of the children that have ended. */
function childrenMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[13]) + Number(fields[14])) * 10
}
