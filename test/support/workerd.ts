// workerd, the runtime of Cloudflare Workers, with and without its Node compatibility.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

const require = createRequire(import.meta.url)

interface Setting {
  name: string
  /** From 2026-08-04 on the flag is set by default. */
  date: string
  flags: readonly string[]
  /** Whether the SDK uses Node's crypto; otherwise it uses WebCrypto. */
  hasNode: boolean
}

export const workerSettings: readonly Setting[] = [
  { name: 'without nodejs_compat', date: '2025-09-01', flags: [], hasNode: false },
  { name: 'with nodejs_compat', date: '2025-09-01', flags: ['nodejs_compat'], hasNode: true },
  { name: 'a Worker made today', date: '2026-11-01', flags: [], hasNode: true },
]

export interface Workers {
  /** The port of each setting. */
  ports: ReadonlyMap<string, number>
  stop(): void
}

/** Bundles a Worker, resolving its imports from `resolveDir`, and serves it under each setting with these variables. */
export async function startWorkers(
  folder: string,
  { source, resolveDir }: { source: string; resolveDir: string },
  variables: Record<string, string>,
): Promise<Workers> {
  await bundle(source, resolveDir, join(folder, 'worker.js'))
  const config = join(folder, 'config.capnp')
  writeFileSync(config, describeWorkers(variables))
  // It reports each socket on its fourth stream.
  const child = spawn(require('workerd').default, ['serve', config, '--control-fd=3'], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  const ports = new Map<string, number>()
  for await (const line of createInterface(child.stdio[3] as Readable)) {
    const { socket, port } = JSON.parse(line)
    ports.set(socket, port)
    if (ports.size === workerSettings.length) break
  }
  return { ports, stop: () => void child.kill('SIGKILL') }
}

/** Bundles with the bundler that builds the package, using the import conditions that Workers tools use. */
async function bundle(contents: string, resolveDir: string, outfile: string): Promise<void> {
  const { build } = createRequire(require.resolve('tsup'))('esbuild')
  await build({
    stdin: { contents, resolveDir },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['node:*'],
    outfile,
    logLevel: 'error',
  })
}

function describeWorkers(variables: Record<string, string>): string {
  const bindings = Object.entries(variables).map(([name, text]) => `(name = "${name}", text = ${JSON.stringify(text)})`)
  const services = workerSettings.map(
    ({ name, date, flags }) => `(name = "${name}", worker = (
      modules = [(name = "worker", esModule = embed "worker.js")],
      compatibilityDate = "${date}",
      compatibilityFlags = ${JSON.stringify(flags)},
      bindings = [${bindings}],
    ))`,
  )
  const sockets = workerSettings.map(({ name }) => `(name = "${name}", address = "127.0.0.1:0", http = (), service = "${name}")`)
  return `
    using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (services = [${services}], sockets = [${sockets}]);
  `
}
