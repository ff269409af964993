import { execFileSync, spawn } from 'node:child_process'
import { createHash, createHmac } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

// The SDK as a consumer gets it: packed, unpacked into node_modules, with nothing of the workspace around it.

const root = fileURLToPath(new URL('../../', import.meta.url))
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')

let folder: string
let installed: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-sdk-'))
  installed = join(folder, 'node_modules', '@gatehouse', 'sdk')
  mkdirSync(installed, { recursive: true })
  execFileSync('pnpm', ['pack', '--pack-destination', folder], { cwd: join(root, 'packages', 'sdk'), stdio: 'pipe' })
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'))!
  execFileSync('tar', ['-xzf', join(folder, tarball), '-C', installed, '--strip-components=1'])
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

const secret = 'a secret for the packed package alone'
const kid = createHash('sha256').update(`gatehouse-kid:${secret}`).digest('hex').slice(0, 8)

function signToken(): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const now = Math.floor(Date.now() / 1000)
  const app = { app_id: 'a-1', app_code: 'billing', aud: 'billing', iss: 'gatehouse' }
  const times = { exp: now + 60, iat: now, nbf: now }
  const claims = { ...app, ...times, uid: 'u-1', tv: 1, roles: [], permissions: ['invoices:read'] }
  const signed = `${encode({ alg: 'HS256', typ: 'JWT', kid })}.${encode(claims)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

function run(file: string, source: string): string {
  writeFileSync(join(folder, file), source)
  return execFileSync(process.execPath, [join(folder, file)], { env: environment(), encoding: 'utf8', timeout: 20_000 }).trim()
}

/** By default nobody listens at the service's address. */
function environment(authUrl = 'http://127.0.0.1:9') {
  const service = { SERVICE_AUTH_URL: authUrl, JWT_ACCESS_SECRET: secret, SERVICE_APP_CODE: 'billing' }
  return { ...process.env, ...service, TOKEN: signToken() }
}

/** What the strict compiler says about a file of a consumer who has no types but those of the package; '' when all is well. */
function compile(source: string, module: 'nodenext' | 'preserve' = 'nodenext', file = 'consumer.mts'): string {
  writeFileSync(join(folder, file), source)
  const options = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--target', 'es2022', '--lib', 'es2022']
  try {
    execFileSync(process.execPath, [tsc, ...options, '--module', module, '--ignoreConfig', file], {
      cwd: folder,
      encoding: 'utf8',
    })
    return ''
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}

test('the package holds its build and nothing else', () => {
  const { exports, dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  expect(dependencies).toBeUndefined()
  expect(JSON.stringify(exports)).not.toContain('source')
  expect(Object.keys(exports)).toEqual(['.', './koa'])
  const files = readdirSync(installed, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  for (const { name } of files) expect(name).toMatch(/^(package\.json|README\.md|LICENSE|[\w-]+\.(js|cjs|d\.ts|d\.cts))$/)
})

test('nothing in it is imported from anywhere, so that bundlers for every platform can take it', () => {
  for (const name of readdirSync(join(installed, 'dist'))) {
    const text = readFileSync(join(installed, 'dist', name), 'utf8')
    const imported = [...text.matchAll(/(?:from\s+|import\s*\(\s*|require\s*\(\s*)['"]([^'"]+)['"]/g)].map(
      ([, specifier]) => specifier,
    )
    for (const specifier of imported) expect(specifier).toMatch(/^\.\//)
  }
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

test('an error of the CommonJS copy is known to the ESM copy', () => {
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
    let waiting = 0
    const service = createServer((request, response) => {
      const isStream = request.url!.endsWith('/stream')
      if (kind === 'stream' && isStream) response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n')
      else if (kind !== 'first poll' && !isStream)
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"items":[],"cursor":1}')
      else response.on('close', () => {})
      waiting += 1
    })
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      service.closeAllConnections()
      service.close()
    })
    const source = `
    import { createAuth } from '@gatehouse/sdk'
    const auth = createAuth()
    const principal = await auth.verify(process.env.TOKEN)
    setTimeout(() => console.log(principal.userId, auth.health().revocation.connected), 500)
  `
    writeFileSync(join(folder, 'ends.mjs'), source)
    const env = environment(`http://127.0.0.1:${(service.address() as AddressInfo).port}`)
    const child = spawn(process.execPath, [join(folder, 'ends.mjs')], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 8_000,
    })
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
    const ended = await new Promise((resolve) => child.once('close', (code, signal) => resolve(signal ?? code)))
    expect([ended, printed.trim()]).toEqual([0, `u-1 ${kind !== 'first poll'}`])
    expect(waiting).toBeGreaterThan(0)
  },
)

test('the core stays small: verification and feed, minified and compressed', async () => {
  // The bundler that builds the package.
  const { build } = createRequire(createRequire(import.meta.url).resolve('tsup'))('esbuild')
  const entryPoints = [join(installed, 'dist', 'index.js')]
  const { outputFiles } = await build({ entryPoints, bundle: true, minify: true, format: 'esm', target: 'node20', write: false })
  expect(gzipSync(outputFiles[0].contents, { level: 9 }).length).toBeLessThan(6_800)
})

const typed = `
  import { AuthError, createAuth, definePermissions, type Auth, type PermissionName, type Principal } from '@gatehouse/sdk'
  import { optionalAuth, requireAuth, type AuthState } from '@gatehouse/sdk/koa'
  const permissions = definePermissions('billing', { 'invoices:read': 'Read invoices', 'invoices:void': 'Void invoices' })
  type Billing = PermissionName<typeof permissions>
  const auth: Auth<Billing> = createAuth({ permissions, secret: ['a', 'b'], revocation: { mode: 'off' } })
  export async function handle(token: string): Promise<string> {
    const principal: Principal<Billing> = await auth.verify(token)
    principal.assert('invoices:read')
    const result = await auth.safeVerify(token)
    if (!result.ok && AuthError.is(result.error, 'TOKEN_EXPIRED')) return result.error.code
    return principal.claims.org_id ?? principal.org?.slug ?? principal.pool
  }
  export const guards = [requireAuth(auth, { permissions: ['invoices:read'], anyOf: ['invoices:void'], org: 'required' }), optionalAuth(auth)]
  export const untyped: boolean = createAuth().verifySync('x').has('whatever:else')
  export type State = AuthState<Billing>
  export const fed = createAuth({
    revocation: { mode: 'feed', onStale: 'deny', maxStaleSec: 30 },
    onEvent: (event) => void (event.type === 'revocation.disconnected' ? event.retryInMs.toFixed() : event.type),
  }).health().revocation.ageSec?.toFixed()
`

test('a strict TypeScript program compiles, as ESM, as CommonJS and for a bundler', () => {
  expect(compile(typed)).toBe('')
  expect(compile(typed, 'nodenext', 'consumer.cts')).toBe('')
  expect(compile(typed, 'preserve', 'consumer.ts')).toBe('')
})

test.each([
  ['a misspelt permission', `export const x = auth.verifySync('').has('invoice:read')`, /TS2345.*"invoice:read"/],
  ['a misspelt permission in a guard', `export const x = requireAuth(auth, { permissions: ['invoices:raed'] })`, /TS2820|TS2322/],
  ['a misspelt requirement', `export const x = requireAuth(auth, { permission: ['invoices:read'] })`, /TS2561|TS2353/],
  ['a permission without an action', `export const x = definePermissions('billing', { invoices: 'Read' })`, /TS2353|TS2345/],
  ['an unknown error code', `export const x = AuthError.is(null, 'TOKEN_EXPIERD')`, /TS2345/],
  ['an unknown option', `export const x = createAuth({ audience: 'billing' })`, /TS2353/],
  ['a revocation mode that does not exist', `export const x = createAuth({ revocation: { mode: 'none' } })`, /TS2322|TS2820/],
  ['an unknown onStale', `export const x = createAuth({ revocation: { mode: 'feed', onStale: 'refuse' } })`, /TS2322|TS2820/],
  ['an unknown event', `createAuth({ onEvent: (event) => event.type === 'revocation.lost' })`, /TS2367/],
  ['custom revocation without its question', `export const x = createAuth({ revocation: { mode: 'custom' } })`, /TS2322|TS2345/],
  ['a changed claim', `auth.verifySync('').claims.uid = 'x'`, /TS2540/],
  ['an unguarded use of a result', `export const x = auth.safeVerify('').then((result) => result.principal)`, /TS2339/],
])('%s does not compile', (_, line, fault) => {
  const said = compile(`${typed}\n${line}\n`)
  expect(said).toMatch(fault)
  expect(said.match(/error TS/g)).toHaveLength(1)
})
