// `gatehouse` and `authctl` as the tests start them: each in one file with all that it stands on, which starts in half the time.
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Options } from 'tsup'

const root = fileURLToPath(new URL('../..', import.meta.url))
const oldMs = 60 * 60_000

/** The files that start them; plain values, since vitest hands them to its workers. */
export interface Programs {
  gatehouse: string
  authctl: string
  /** What `server-instance.ts` starts servers from. */
  serverParts: string
}

declare module 'vitest' {
  interface ProvidedContext {
    programs: Programs
  }
}

const serverParts = fileURLToPath(new URL('server-parts.ts', import.meta.url))

type Recipe = Options & { entry: Record<string, string> }

/** What cannot be part of another file: a native module, one that starts files of its own, and what knex and pg ask for in vain. */
const outside =
  /^(?:better-sqlite3|piscina|pg-native|pg-query-stream|pg-cloudflare|sqlite3|mysql2?|oracledb|tedious|mariadb)(?:$|\/)/
const server: Recipe = {
  entry: { gatehouse: 'src/gatehouse.ts', 'hash-worker': 'src/adapters/hash-worker.ts', 'server-parts': serverParts },
  external: [outside],
  noExternal: [new RegExp(`^(?!${outside.source.slice(1)})`)],
  esbuildPlugins: [
    {
      name: 'one-of-each',
      // What the server requires instead of importing it would come from beside the bundle, all of knex for one of its files.
      setup: (bundler) =>
        bundler.onLoad({ filter: /server\/src\/(db\/knex|http\/router)\.ts$/ }, ({ path }) => ({
          loader: 'ts',
          contents: readFileSync(path, 'utf8').replaceAll("createRequire(import.meta.url)('", "require('"),
        })),
    },
  ],
}
/** The others are loaded when a command needs them, some by a name that only CommonJS gives. */
const cli: Recipe = {
  entry: { authctl: 'src/authctl.ts' },
  skipNodeModulesBundle: true,
  noExternal: [/^(@gatehouse|openapi-fetch)/],
}

/** Makes them from their sources, which takes seconds, unless nothing has changed since the last time. */
export async function buildPrograms(): Promise<Programs> {
  const [serverFolder, cliFolder] = await Promise.all([buildPackage('server', server), buildPackage('cli', cli)])
  return {
    gatehouse: join(serverFolder, 'gatehouse.js'),
    authctl: join(cliFolder, 'authctl.js'),
    serverParts: join(serverFolder, 'server-parts.js'),
  }
}

/** The folder of what was built. Its name says of which sources, so that two runs at once do not disturb one another. */
async function buildPackage(name: string, { entry, ...options }: Recipe): Promise<string> {
  const folder = join(root, 'packages', name)
  // Inside the package, where the modules that it still asks for are found.
  const cache = join(folder, 'node_modules', '.cache', 'test-programs')
  const built = join(cache, sourceKey(folder))
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
      banner: { js: "import { createRequire as requireFor } from 'node:module'; const require = requireFor(import.meta.url);" },
      ...options,
      entry: Object.fromEntries(Object.entries(entry).map(([output, path]) => [output, resolve(folder, path)])),
    })
    // Another run may have been first.
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

/** Changes with every source file that comes, goes or is written, and with the packages that are installed. */
function sourceKey(folder: string): string {
  const lines = [folder, join(root, 'packages', 'sdk')]
    .flatMap((each) => readdirSync(join(each, 'src'), { recursive: true, withFileTypes: true }))
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
