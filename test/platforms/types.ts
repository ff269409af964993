// Checks the types of every entry point in strict projects, one for each way to resolve imports.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Trial } from './matrix.ts'
import type { Workplace } from './workplace.ts'

const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')

interface Resolution {
  name: string
  file: string
  options: readonly string[]
  /** Entry points whose framework has no types for this resolution. */
  without?: readonly string[]
}

/** `nest` is left out of two of them, because Nest 12 is ESM with `exports`. */
const resolutions: Resolution[] = [
  {
    name: 'node10',
    file: 'node10.cts',
    options: ['--module', 'commonjs', '--moduleResolution', 'node10', '--ignoreDeprecations', '6.0'],
    without: ['nest'],
  },
  { name: 'node16, ESM', file: 'esm.mts', options: ['--module', 'node16'] },
  { name: 'node16, CJS', file: 'cjs.cts', options: ['--module', 'node16'], without: ['nest'] },
  { name: 'nodenext, CJS', file: 'next.cts', options: ['--module', 'nodenext'] },
  { name: 'bundler', file: 'bundler.ts', options: ['--module', 'esnext', '--moduleResolution', 'bundler'] },
]

const common = [
  '--strict',
  '--noEmit',
  '--target',
  'es2023',
  '--lib',
  'es2023,dom,dom.iterable',
  '--types',
  'node',
  '--skipLibCheck',
]

export function typeTrials(work: Workplace): Trial[] {
  const manifest = join(work.folder, 'node_modules', '@gatehouse', 'sdk', 'package.json')
  const entries = Object.keys((JSON.parse(readFileSync(manifest, 'utf8')) as { exports: object }).exports)
  const names = entries.map((entry) => entry.slice('./'.length))
  return resolutions.flatMap(({ name: row, file, options, without = [] }) => {
    let said: string[] | undefined
    const faultsOf = (line: number) => {
      said ??= compile(work, file, names, [...options])
      return said.filter((fault) => Number(/[(](\d+),/.exec(fault)?.[1]) === line)
    }
    return names.map(
      (name, index): Trial => ({
        row,
        column: name === '' ? '.' : `/${name}`,
        run: async () => {
          if (without.includes(name)) return 'ESM alone'
          const faults = faultsOf(index + 1)
          if (faults.length > 0) throw new Error(faults.join('; '))
          return undefined
        },
      }),
    )
  })
}

/** A line of code for each entry point, which uses a member whose type must be specific. */
const uses: Record<string, string> = {
  '': `import { createAuth } from '@gatehouse/sdk'; export const a0: boolean = createAuth().verifySync('').has('a:b')`,
  admin: `import { createAdmin } from '@gatehouse/sdk/admin'; export const a1 = async (): Promise<string | undefined> => (await createAdmin().GET('/api/v1/admin/apps/{appId}', { params: { path: { appId: '' } } })).data?.name`,
  browser: `import { createBrowserAuth } from '@gatehouse/sdk/browser'; export const a2: 'signed_in' | 'signed_out' = createBrowserAuth({ authUrl: '', appCode: '' }).state.status`,
  express: `import { getAuth as g3 } from '@gatehouse/sdk/express'; export const a3: string = g3({}).userId`,
  fastify: `import { getAuth as g4 } from '@gatehouse/sdk/fastify'; export const a4: string = g4({}).userId`,
  hono: `import type { AuthEnv } from '@gatehouse/sdk/hono'; export const a5 = (env: AuthEnv): string => env.Variables.auth.userId`,
  inspect: `import { inspectToken } from '@gatehouse/sdk/inspect'; export const a6 = async (): Promise<boolean | null> => (await inspectToken('')).valid`,
  koa: `import type { AuthState } from '@gatehouse/sdk/koa'; export const a7 = (state: AuthState): string => state.auth.userId`,
  nest: `import { AuthPrincipal } from '@gatehouse/sdk/nest'; export const a8: ParameterDecorator = AuthPrincipal()`,
  next: `import { getAuth as g9 } from '@gatehouse/sdk/next'; export const a9: string = g9({}).userId`,
  node: `import { requireAuth as r10, type NodeListener } from '@gatehouse/sdk/node'; export const a10: NodeListener = r10({} as never)((request) => request.url)`,
  protocol: `import { MAX_TOKEN_BYTES } from '@gatehouse/sdk/protocol'; export const a11: number = MAX_TOKEN_BYTES`,
  react: `import { useAuth } from '@gatehouse/sdk/react'; export const a12 = (): 'signed_in' | 'signed_out' => useAuth().state.status`,
  testing: `import { createTestAuth } from '@gatehouse/sdk/testing'; export const a13: string = createTestAuth().token()`,
  web: `import { createWebSession } from '@gatehouse/sdk/web'; export const a15 = async (): Promise<string | undefined> => (await createWebSession({} as never).getSession(new Headers())).principal?.userId`,
  webhooks: `import { verifyWebhook } from '@gatehouse/sdk/webhooks'; export const a14 = async (): Promise<string> => (await verifyWebhook({}, '', '')).user.email`,
}

function compile({ folder }: Workplace, file: string, names: readonly string[], options: readonly string[]): string[] {
  const without = resolutions.find((each) => each.file === file)?.without ?? []
  const lines = names.map((name) => {
    if (uses[name] === undefined) throw new Error(`no use of /${name} is written down in test/platforms/types.ts`)
    return without.includes(name) ? '' : uses[name]
  })
  writeFileSync(join(folder, file), lines.join('\n'))
  const run = spawnSync(process.execPath, [tsc, '--ignoreConfig', ...common, ...options, file], { cwd: folder, encoding: 'utf8' })
  const said = run.stdout.split('\n').filter((line) => line.includes('error TS'))
  const elsewhere = said.filter((line) => !line.startsWith(file))
  if (elsewhere.length > 0) throw new Error(elsewhere.join('; '))
  return said
}
