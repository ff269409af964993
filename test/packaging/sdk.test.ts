import { execFileSync } from 'node:child_process'
import { createHash, createHmac } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

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
  const env = { ...process.env, JWT_ACCESS_SECRET: secret, SERVICE_APP_CODE: 'billing', TOKEN: signToken() }
  return execFileSync(process.execPath, [join(folder, file)], { env, encoding: 'utf8' }).trim()
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
  ['custom revocation without its question', `export const x = createAuth({ revocation: { mode: 'custom' } })`, /TS2322|TS2345/],
  ['a changed claim', `auth.verifySync('').claims.uid = 'x'`, /TS2540/],
  ['an unguarded use of a result', `export const x = auth.safeVerify('').then((result) => result.principal)`, /TS2339/],
])('%s does not compile', (_, line, fault) => {
  const said = compile(`${typed}\n${line}\n`)
  expect(said).toMatch(fault)
  expect(said.match(/error TS/g)).toHaveLength(1)
})
