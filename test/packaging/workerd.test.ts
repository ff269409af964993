// The built SDK in workerd, the runtime of Cloudflare Workers, as one module: with and without what workerd has of Node.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { createTestAuth } from '@gatehouse/sdk/testing'
import { beforeAll, describe, expect, test } from 'vitest'

const require = createRequire(import.meta.url)

interface Setting {
  name: string
  /** From 2026-08-04 on the flag is set by default. */
  date: string
  flags: readonly string[]
  /** Whether Node's own calls serve; otherwise WebCrypto does. */
  hasNode: boolean
}

const settings: Setting[] = [
  { name: 'without nodejs_compat', date: '2025-09-01', flags: [], hasNode: false },
  { name: 'with nodejs_compat', date: '2025-09-01', flags: ['nodejs_compat'], hasNode: true },
  { name: 'a Worker made today', date: '2026-11-01', flags: [], hasNode: true },
]

const source = `
  import { createAuth } from '@gatehouse/sdk'
  let auth
  const verifiesAtOnce = (token) => {
    try {
      return auth.verifySync(token).userId !== undefined
    } catch {
      return false
    }
  }
  export default {
    async fetch({ headers }, { secret, appCode }) {
      // The address alone would turn the feed on where the SDK took workerd for Node.
      auth ??= createAuth({ secret, appCode, authUrl: 'http://127.0.0.1:9' })
      const token = headers.get('x-token')
      const { ok, principal, error } = await auth.safeVerify(token)
      return ok
        ? Response.json({ user: principal.userId, isSync: verifiesAtOnce(token), feed: auth.health().revocation.mode })
        : Response.json({ code: error.code }, { status: error.status })
    },
  }
`

const gate = createTestAuth({ appCode: 'billing' })
const ports = new Map<string, number>()
let folder: string
let child: ChildProcess

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-workerd-'))
  await bundle()
  const config = join(folder, 'config.capnp')
  writeFileSync(config, describeWorkers())
  // It tells of each socket on the fourth stream.
  child = spawn(require('workerd').default, ['serve', config, '--control-fd=3'], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  for await (const line of createInterface(child.stdio[3] as Readable)) {
    const { socket, port } = JSON.parse(line)
    ports.set(socket, port)
    if (ports.size === settings.length) break
  }
  return async () => {
    child.kill('SIGKILL')
    await gate.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

/** By the bundler that builds the package, with the conditions of tools for Workers. */
async function bundle(): Promise<void> {
  const { build } = createRequire(require.resolve('tsup'))('esbuild')
  await build({
    stdin: { contents: source, resolveDir: fileURLToPath(new URL('.', import.meta.url)) },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['node:*'],
    outfile: join(folder, 'worker.js'),
    logLevel: 'error',
  })
}

function describeWorkers(): string {
  const bindings = `[(name = "secret", text = "${gate.env.JWT_ACCESS_SECRET}"), (name = "appCode", text = "billing")]`
  const services = settings.map(
    ({ name, date, flags }) => `(name = "${name}", worker = (
      modules = [(name = "worker", esModule = embed "worker.js")],
      compatibilityDate = "${date}",
      compatibilityFlags = ${JSON.stringify(flags)},
      bindings = ${bindings},
    ))`,
  )
  const sockets = settings.map(({ name }) => `(name = "${name}", address = "127.0.0.1:0", http = (), service = "${name}")`)
  return `
    using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (services = [${services}], sockets = [${sockets}]);
  `
}

describe.each(settings)('$name', ({ name, hasNode }) => {
  const ask = async (token: string): Promise<[status: number, body: unknown]> => {
    const response = await fetch(`http://127.0.0.1:${ports.get(name)}/`, { headers: { 'x-token': token } })
    const text = await response.text()
    return [response.status, text.startsWith('{') ? JSON.parse(text) : text]
  }

  test('a good token is taken, also one beyond ASCII', async () => {
    for (const first_name of ['Ada', 'Zoë 😀'])
      expect(await ask(gate.token({ uid: 'u-1', first_name }))).toEqual([200, { user: 'u-1', isSync: hasNode, feed: 'off' }])
  })

  test('each bad token is refused with its code', async () => {
    const bad = gate.badTokens().filter(({ code }) => code !== 'TOKEN_REVOKED' && code !== 'TOKEN_MISSING')
    expect(bad.length).toBeGreaterThan(12)
    for (const { name, token, code } of bad) expect([name, await ask(token)]).toEqual([name, [401, { code }]])
  })
})
