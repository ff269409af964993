// Builds `gatehouse` and `authctl` for the tests: bundled with their dependencies, which halves the time that they take to start.
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Options } from 'tsup'

const root = fileURLToPath(new URL('../..', import.meta.url))
const oldMs = 60 * 60_000

/** The files that start the programs. Plain values, since vitest passes them to its workers. */
export interface Programs {
  gatehouse: string
  authctl: string
  /** The bundle that `server-instance.ts` starts servers from. */
  serverParts: string
}

declare module 'vitest' {
  interface ProvidedContext {
    programs: Programs
  }
}

/** The environment variable with the fault of `npm run mutants` to build into the programs. */
export const faultVariable = 'GATEHOUSE_PLANTED_FAULT'

interface Fault {
  path: string
  search: string
  replace: string
}

const serverParts = fileURLToPath(new URL('server-parts.ts', import.meta.url))

type Recipe = Options & { entry: Record<string, string> }

/**
 * Modules that cannot be bundled: a native one, one that starts files of its own, and
 * those that knex and pg look for but do not find.
 */
const outside =
  /^(?:better-sqlite3|piscina|pg-native|pg-query-stream|pg-cloudflare|sqlite3|mysql2?|oracledb|tedious|mariadb)(?:$|\/)/
const server: Recipe = {
  entry: { gatehouse: 'src/gatehouse.ts', 'hash-worker': 'src/adapters/hash-worker.ts', 'server-parts': serverParts },
  external: [outside],
  noExternal: [new RegExp(`^(?!${outside.source.slice(1)})`)],
  esbuildPlugins: [
    {
      name: 'one-of-each',
      // Modules that the server loads with `require` would otherwise not be bundled, which
      // for one of them means loading all of knex.
      setup: (bundler) =>
        bundler.onLoad({ filter: /server\/src\/(db\/postgres-client|http\/router)\.ts$/ }, ({ path }) => ({
          loader: 'ts',
          contents: readSource(path).replaceAll("createRequire(import.meta.url)('", "require('"),
        })),
    },
  ],
}
/** Plants the fault in a file that no other plugin loads. */
const withFault: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'planted-fault',
  setup: (bundler) =>
    bundler.onLoad({ filter: /\.ts$/ }, ({ path }) =>
      path === plantedFault()?.path ? { loader: 'ts', contents: readSource(path) } : undefined,
    ),
}
/** Other packages are not bundled: a command loads them when it needs them, some by a name that only CommonJS provides. */
const cli: Recipe = {
  entry: { authctl: 'src/authctl.ts' },
  skipNodeModulesBundle: true,
  noExternal: [/^(@gatehouse|openapi-fetch)/],
}

function plantedFault(): Fault | undefined {
  const text = process.env[faultVariable]
  return text === undefined ? undefined : (JSON.parse(text) as Fault)
}

function readSource(path: string): string {
  const source = readFileSync(path, 'utf8')
  const fault = plantedFault()
  return fault?.path === path ? source.replace(fault.search, () => fault.replace) : source
}

/** Builds the programs from their sources, unless nothing has changed since the last time. Takes seconds. */
export async function buildPrograms(): Promise<Programs> {
  const [serverFolder, cliFolder] = await Promise.all([buildPackage('server', server), buildPackage('cli', cli)])
  return {
    gatehouse: join(serverFolder, 'gatehouse.js'),
    authctl: join(cliFolder, 'authctl.js'),
    serverParts: join(serverFolder, 'server-parts.js'),
  }
}

/** Builds a package and returns the folder. It is named after the sources, so that two simultaneous runs do not interfere. */
async function buildPackage(name: string, { entry, esbuildPlugins = [], ...options }: Recipe): Promise<string> {
  const folder = join(root, 'packages', name)
  const fault = plantedFault()
  const isFaulty = fault !== undefined && partsOf(folder).some((part) => fault.path.startsWith(part + sep))
  // Inside the package, so that Node finds the modules that are not bundled.
  const cache = join(folder, 'node_modules', '.cache', 'test-programs')
  const built = join(cache, isFaulty ? `faulty-${process.pid}` : sourceKey(folder))
  // It was built for the previous fault.
  if (isFaulty) rmSync(built, { recursive: true, force: true })
  if (existsSync(built)) return built
  const staging = join(cache, `staging-${randomBytes(6).toString('hex')}`)
  mkdirSync(staging, { recursive: true })
  writeFileSync(join(staging, 'package.json'), '{"type":"module"}\n')
  try {
    await build({
      config: false,
      silent: true,
      format: 'esm',
      target: 'node24',
      platform: 'node',
      splitting: true,
      outDir: staging,
      // Node reads and compiles less text faster.
      esbuildOptions: (options) => void Object.assign(options, { legalComments: 'none', minifyWhitespace: true }),
      banner: { js: "import { createRequire as requireFor } from 'node:module'; const require = requireFor(import.meta.url);" },
      ...options,
      esbuildPlugins: [...esbuildPlugins, withFault],
      entry: Object.fromEntries(Object.entries(entry).map(([output, path]) => [output, resolve(folder, path)])),
    })
    // Another run may have built it in the meantime.
    if (!existsSync(built)) renameSync(staging, built)
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
  for (const other of readdirSync(cache)) {
    const path = join(cache, other)
    const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (path !== built && Date.now() - made > oldMs) rmSync(path, { recursive: true, force: true })
  }
  return built
}

/** The folders of sources that the programs of a package are built from. */
function partsOf(folder: string): string[] {
  return [folder, join(root, 'packages', 'sdk')].map((each) => join(each, 'src'))
}

/** A key that changes whenever a source file is added, removed or written, and whenever the installed packages change. */
function sourceKey(folder: string): string {
  const lines = partsOf(folder)
    .flatMap((part) => readdirSync(part, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .concat(join(folder, 'package.json'), join(root, 'pnpm-lock.yaml'), fileURLToPath(import.meta.url), serverParts)
    .sort()
    .map((path) => {
      const { mtimeMs, size } = statSync(path)
      return `${path} ${mtimeMs} ${size}`
    })
  return createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 16)
}
