// Tries tokens, webhooks and every entry point that needs no framework, in each runtime, as a module and as CommonJS.
import { execFileSync } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTestAuth } from '@gatehouse/sdk/testing'
import { startWorkers, workerSettings } from '../support/workerd.ts'
import type { Trial } from './matrix.ts'
import { executable, type Workplace } from './workplace.ts'

export interface NodeProgram {
  name: string
  program: string
}

/** Entry points that do not need a framework. */
const alone = [
  'admin',
  'browser',
  'express',
  'fastify',
  'hono',
  'inspect',
  'koa',
  'next',
  'node',
  'protocol',
  'testing',
  'web',
  'webhooks',
]

interface Given {
  secret: string
  appCode: string
  /** Tokens with the error code that refuses each, or null for good tokens. */
  tokens: { name: string; token: string; code: string | null }[]
  webhook: { headers: Record<string, string>; body: string; secret: string }
}

function give(): Given {
  const gate = createTestAuth({ appCode: 'billing' })
  const bad = gate.badTokens().filter(({ code }) => code !== 'TOKEN_REVOKED' && code !== 'TOKEN_MISSING')
  const good = ['Ada', 'Zoë 😀'].map((first_name) => ({
    name: `of ${first_name}`,
    token: gate.token({ first_name }),
    code: null,
  }))
  void gate.close()
  return { secret: gate.env.JWT_ACCESS_SECRET!, appCode: 'billing', tokens: [...good, ...bad], webhook: signWebhook() }
}

function signWebhook(): Given['webhook'] {
  const key = randomBytes(32)
  const [id, timestamp] = ['msg-1', String(Math.floor(Date.now() / 1000))]
  const body = JSON.stringify({ id, event: 'user.registered', user: { first_name: 'Zoë 😀' } })
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
  return { headers, body, secret: `whsec_${key.toString('base64')}` }
}

/** The body of a function that takes `given` and `{ createAuth, createWebSession, … }` and returns what is wrong. */
const judge = `
  const faults = []
  const auth = createAuth({ secret: given.secret, appCode: given.appCode, revocation: { mode: 'off' } })
  for (const { name, token, code } of given.tokens) {
    const result = await auth.safeVerify(token)
    const found = result.ok ? null : result.error.code
    if (found !== code) faults.push(name + ' was ' + found + ', and should be ' + code)
  }
  const { webhook } = given
  const event = await verifyWebhook(webhook.headers, webhook.body, webhook.secret)
  if (event.user.first_name !== 'Zoë 😀') faults.push('the webhook has lost its text')
  const forged = await verifyWebhook(webhook.headers, webhook.body + ' ', webhook.secret).catch(({ code }) => code)
  if (forged !== 'WEBHOOK_SIGNATURE') faults.push('a forged webhook was ' + forged)
  const { valid } = await inspectToken(given.tokens[0].token, { secrets: [given.secret], appCode: given.appCode })
  if (valid !== true) faults.push('inspectToken says ' + valid)
  // A sign-in with cookies, at a service that is a function.
  const at = 'https://login.example'
  const tokens = { access_token: given.tokens[0].token, refresh_token: 'grt_x', expires_in: 900 }
  const metadata = { issuer: at, authorization_endpoint: at + '/oauth/authorize', end_session_endpoint: at + '/oauth/logout' }
  const fetch = async (url) => Response.json(url.endsWith('/oauth/token') ? tokens : metadata)
  const options = { secret: given.secret, appCode: given.appCode, authUrl: at, revocation: { mode: 'off' }, check: 'off', fetch }
  const cookieSecret = 'a secret for cookies, of 32 characters or more'
  const session = createWebSession(createAuth(options), { redirectUrl: 'https://app.example/callback', cookieSecret })
  const cookieOf = (response) => response.headers.getSetCookie()[0].split(';')[0]
  const start = await session.handle(new Request('https://app.example/login?returnTo=/notes'))
  const state = new URL(start.headers.get('location')).searchParams.get('state')
  const callback = new Request('https://app.example/callback?' + new URLSearchParams({ state, code: 'gac_x', iss: at }))
  callback.headers.set('cookie', cookieOf(start))
  const end = await session.handle(callback)
  if (end.headers.get('location') !== 'https://app.example/notes') faults.push('the sign-in ended with ' + end.status)
  const { principal } = await session.getSession(new Headers({ cookie: cookieOf(end) }))
  if (principal?.claims.first_name !== 'Ada') faults.push('the cookie session is of ' + principal?.userId)
`

function writeProbes({ folder }: Workplace, given: Given): void {
  const names = `{ createAuth }, { verifyWebhook }, { inspectToken }, { createWebSession }`
  const program = (load: (entry: string) => string) => `
    const run = async () => {
      const given = ${JSON.stringify(given)}
      const [${names}] = await Promise.all([${['', '/webhooks', '/inspect', '/web'].map(load)}])
      for (const entry of await Promise.all([${alone.map((entry) => load(`/${entry}`))}]))
        if (Object.keys(entry).length === 0) throw new Error('an entry point is empty')
      ${judge}
      console.log(JSON.stringify(faults))
      // Some runtimes wait for what a program leaves open.
      process.exit(0)
    }
    run().catch((error) => { console.error(error); process.exit(1) })
  `
  writeFileSync(
    join(folder, 'probe.mjs'),
    program((entry) => `import('@gatehouse/sdk${entry}')`),
  )
  writeFileSync(
    join(folder, 'probe.cjs'),
    program((entry) => `require('@gatehouse/sdk${entry}')`),
  )
}

function runProbe({ folder }: Workplace, program: string, words: readonly string[], file: string): undefined {
  const env = { PATH: process.env.PATH, HOME: folder, DENO_DIR: join(folder, '.deno'), NO_COLOR: '1' }
  const printed = execFileSync(program, [...words, file], { cwd: folder, env, encoding: 'utf8', timeout: 120_000 })
  const faults: string[] = JSON.parse(printed.trim().split('\n').at(-1)!)
  if (faults.length > 0) throw new Error(faults.join('; '))
}

export async function runtimeTrials(work: Workplace, nodes: readonly NodeProgram[]): Promise<Trial[]> {
  const given = give()
  writeProbes(work, given)
  const programs: { name: string; program: string | undefined; words: string[] }[] = [
    ...nodes.map((node) => ({ ...node, words: [] })),
    { name: 'Bun', program: executable(work.peer('@oven/bun-linux-x64-baseline/bin/bun')), words: [] },
    {
      name: 'Deno',
      program: executable(work.peer('@deno/linux-x64-glibc/deno')),
      words: ['run', '--allow-all', '--no-remote', '--node-modules-dir=manual'],
    },
  ]
  const forms = { ESM: 'probe.mjs', CJS: 'probe.cjs' }
  const trials = programs.flatMap(({ name, program, words }) =>
    Object.entries(forms).map(
      ([column, file]): Trial => ({
        row: program === undefined || name.startsWith('Node') ? name : `${name} ${versionOf(program)}`,
        column,
        run: async () => (program === undefined ? 'none for this machine' : runProbe(work, program, words, file)),
      }),
    ),
  )
  return [...trials, ...workerTrials(work, given)]
}

function versionOf(program: string): string {
  return /\d+\.\d+\.\d+/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))![0]
}

/** Workers support only modules, not CommonJS. */
function workerTrials({ folder }: Workplace, given: Given): Trial[] {
  const source = `
    import { createAuth } from '@gatehouse/sdk'
    import { inspectToken } from '@gatehouse/sdk/inspect'
    import { createWebSession } from '@gatehouse/sdk/web'
    import { verifyWebhook } from '@gatehouse/sdk/webhooks'
    export default {
      async fetch(_, env) {
        const given = JSON.parse(env.given)
        ${judge}
        return Response.json(faults)
      },
    }
  `
  return workerSettings.map(({ name }) => ({
    row: `workerd, ${name}`,
    column: 'ESM',
    run: async () => {
      const workers = await startWorkers(folder, { source, resolveDir: folder }, { given: JSON.stringify(given) })
      try {
        const answer = await (await fetch(`http://127.0.0.1:${workers.ports.get(name)}/`)).text()
        if (answer !== '[]') throw new Error(answer)
        return undefined
      } finally {
        workers.stop()
      }
    },
  }))
}
