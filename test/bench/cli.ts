// Measures the processor time of an `authctl` command, including its start, next to a Node that does nothing and, if it can be
// fetched from Debian, next to `gh`, a program in Go. They run in turns.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { unpackFromDebian } from '../support/debian-packages.ts'
import { record } from './support/results.ts'
import { median } from './support/server-under-test.ts'

const rounds = 5
/** Several runs are measured as one, because the kernel counts in steps of 10 ms. */
const runsPerRound = 5

const authctl = fileURLToPath(new URL('../../packages/cli/dist/authctl.js', import.meta.url))
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

interface Program {
  name: string
  file: string
  words: string[]
}

const ours = (...words: string[]): Program => ({ name: 'authctl', file: process.execPath, words: [authctl, ...words] })
const idleNode: Program = { name: 'node -e 0', file: process.execPath, words: ['-e', '0'] }
/** The bounds were set on a machine where Node itself takes 25 ms. */
const idleNodeMs = 25

try {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const env = { PATH: process.env.PATH, HOME: home, AUTHCTL_TOKEN: 't', AUTHCTL_BASE_URL: url, GH_TOKEN: 't' }
  const version = { what: 'authctl --version', program: ours('--version') }
  const table = { what: 'authctl app list, 50 apps as a table', program: ours('app', 'list', '-o', 'table') }
  await compare({ ...version, peer: idleNode, bound: 60 / idleNodeMs }, env)
  await compare({ ...table, peer: idleNode, bound: 100 / idleNodeMs }, env)
  const gh = await findGh()
  if (gh !== undefined) {
    await compare({ ...version, peer: { name: 'gh --version', file: gh, words: ['--version'] }, bound: 1 }, env)
    // Both get the same answer over HTTP and print JSON.
    const json = { what: 'authctl app list, 50 apps as JSON', program: ours('app', 'list', '--json') }
    await compare({ ...json, peer: { name: 'gh api', file: gh, words: ['api', `${url}/apps`] }, bound: 2 }, env)
  }
} finally {
  server.close()
  rmSync(home, { recursive: true, force: true })
}

async function findGh(): Promise<string | undefined> {
  try {
    return join(await unpackFromDebian('gh', ['gh'], '11 MB'), 'usr', 'bin', 'gh')
  } catch (error) {
    console.log(`  not beside gh: ${error instanceof Error ? error.message : error}`)
    return undefined
  }
}

async function compare(
  { what, program, peer, bound }: { what: string; program: Program; peer: Program; bound: number },
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const figures: { ours: number; peer: number }[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const figure = { ours: await cpuMsOf(program, env), peer: await cpuMsOf(peer, env) }
    // Do not count the first round, which fills the disk caches.
    if (round > 0) figures.push(figure)
  }
  record({
    ...{ what, beside: peer.name, unit: 'ms CPU', better: 'lower', bound },
    ours: median(figures.map(({ ours }) => ours)),
    peer: median(figures.map(({ peer }) => peer)),
    ratio: median(figures.map(({ ours, peer }) => ours / peer)),
  })
}

/** The processor time of one run, without that of the server in this process. */
async function cpuMsOf({ name, file, words }: Program, env: NodeJS.ProcessEnv): Promise<number> {
  const before = childrenMs()
  for (let run = 0; run < runsPerRound; run += 1) {
    const child = spawn(file, words, { env, stdio: 'ignore' })
    const [exit] = await once(child, 'exit')
    if (exit !== 0) throw new Error(`${name} ended with ${exit}`)
  }
  return (childrenMs() - before) / runsPerRound
}

/** Processor time of the children that have ended. */
function childrenMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[13]) + Number(fields[14])) * 10
}
