// Runs a backend of each framework with the packed SDK on each Node version, and sends it good, bad and revoked tokens.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { createTestAuth } from '@gatehouse/sdk/testing'
import { freePort } from '../support/free-port.ts'
import type { Trial } from './matrix.ts'
import type { NodeProgram } from './runtimes.ts'
import { stripDecorators, type Workplace } from './workplace.ts'

const patienceMs = 60_000

type Gate = ReturnType<typeof createTestAuth>

interface Backend {
  name: string
  /** The arguments for Node. */
  words(work: Workplace, port: number): string[]
  path?: string
}

const backends: Backend[] = [
  ...['koa', 'express', 'fastify', 'hono', 'node', 'nest'].map((name) => ({ name, words: () => [`${name}.mjs`] })),
  {
    name: 'next',
    words: ({ peer }, port) => [
      peer('next/dist/bin/next'),
      'start',
      'next-app',
      '--hostname',
      '127.0.0.1',
      '--port',
      String(port),
    ],
    path: '/api/notes',
  },
]

export function frameworkTrials(work: Workplace, nodes: readonly NodeProgram[]): Trial[] {
  writeFileSync(join(work.folder, 'nest.mjs'), stripDecorators(readFileSync(join(work.folder, 'nest.ts'), 'utf8')))
  // These tests also build the app, without its settings, for the Node versions that start it.
  const nextApps = ['next-app', 'hosted-next'].map(
    (name): Trial => ({
      row: `the tests of examples/${name}`,
      column: `Node ${process.versions.node}`,
      run: async () => testNextApp(work, name),
    }),
  )
  return [
    ...nextApps,
    ...backends.flatMap((backend) =>
      nodes.map(
        ({ name, program }): Trial => ({ row: backend.name, column: name, run: () => tryBackend(work, program, backend) }),
      ),
    ),
  ]
}

/** The minimal environment, without settings of an app. */
const bareEnvironment = ({ folder }: Workplace) => ({
  PATH: process.env.PATH,
  HOME: folder,
  NO_COLOR: '1',
  NEXT_TELEMETRY_DISABLED: '1',
})

function testNextApp(work: Workplace, name: string): undefined {
  execFileSync(process.execPath, ['--test', '--test-reporter=tap'], {
    cwd: join(work.folder, name),
    env: bareEnvironment(work),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 10 * patienceMs,
  })
}

async function tryBackend(work: Workplace, program: string, { words, path = '/' }: Backend): Promise<undefined> {
  const gate = createTestAuth({ appCode: 'notes' })
  const child = spawn(program, words(work, await freePort()), {
    cwd: work.folder,
    env: { ...bareEnvironment(work), NODE_ENV: 'production', ...gate.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  try {
    await showTokens(`${await addressOf(child)}${path}`, gate)
  } finally {
    child.kill('SIGKILL')
    await gate.close()
  }
}

/** Waits for the first address that the program prints. */
async function addressOf(child: ChildProcess): Promise<string> {
  let printed = ''
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${printed}`)))
    for (const stream of [child.stdout!, child.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => {
        printed += text
        const [, port] = /http:\/\/(?:127\.0\.0\.1|localhost):(\d+)/.exec(printed) ?? []
        if (port !== undefined) resolve(`http://127.0.0.1:${port}`)
      })
  })
}

async function showTokens(url: string, gate: Gate): Promise<void> {
  const ask = async (headers: Record<string, string> = {}, method = 'GET') => {
    const answer = await fetch(url, { method, headers, signal: AbortSignal.timeout(patienceMs) })
    return { status: answer.status, challenge: answer.headers.get('www-authenticate') ?? '', text: await answer.text() }
  }
  const expectStatus = async (what: string, wanted: number, ...words: Parameters<typeof ask>) => {
    const { status, challenge, text } = await ask(...words)
    if (status !== wanted)
      throw new Error(`${what} is answered with ${status}, and should be with ${wanted}: ${text.slice(0, 300)}`)
    if (wanted === 401 && !challenge.startsWith('Bearer')) throw new Error(`${what} is answered without a challenge`)
    if (wanted > 400 && JSON.parse(text).status !== wanted)
      throw new Error(`${what} is not answered in the service's shape: ${text}`)
    return text
  }
  const becomes401 = async (what: string, headers: Record<string, string>) => {
    for (const end = Date.now() + patienceMs; (await ask(headers)).status !== 401; await setTimeout(20))
      if (Date.now() > end) throw new Error(`${what} still gets in`)
  }
  await expectStatus('no token', 401)
  for (const { name, token, code } of gate.badTokens()) {
    const headers = { authorization: `Bearer ${token}` }
    // A backend learns of revocations shortly after its start.
    if (code === 'TOKEN_REVOKED') await becomes401(name, headers)
    await expectStatus(name, 401, headers)
  }
  const text = await expectStatus('a good token', 200, gate.bearer())
  if (JSON.parse(text).hello !== 'test.user@example.com') throw new Error(`the handler does not see who it is: ${text}`)
  await expectStatus('a permission that is there', 204, gate.bearer('notes:delete'), 'DELETE')
  await expectStatus('a permission that is not there', 403, gate.bearer('notes:read'), 'DELETE')

  const revoked = gate.bearer()
  await gate.revoke(gate.userId)
  await becomes401('a revoked token', revoked)
}
