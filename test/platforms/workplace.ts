// A folder with the packed SDK installed, below the packages that it is tried with.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { npmPack, unpack } from '../support/npm-pack.ts'

const here = fileURLToPath(new URL('.', import.meta.url))

export interface Workplace {
  folder: string
  /** The path of a file in one of the packages of `package.json` here. */
  peer(path: string): string
  remove(): void
}

export function openWorkplace(): Workplace {
  installPeers()
  const folder = mkdtempSync(join(here, '.work-'))
  unpack(npmPack('sdk', join(folder, 'packed')), join(folder, 'node_modules', '@gatehouse', 'sdk'))
  cpSync(join(here, 'fixtures'), folder, { recursive: true })
  const isSource = (path: string) => !/[/](node_modules|[.]next)$/.test(path)
  for (const name of ['next-app', 'hosted-next'])
    cpSync(join(here, '../../examples', name), join(folder, name), { recursive: true, filter: isSource })
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  return { folder, peer: peerFile, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

function installPeers(): void {
  if (existsSync(peerFile('next/package.json'))) return
  const { status } = spawnSync('pnpm', ['install', '--frozen-lockfile'], { cwd: here, stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error('what the SDK is tried with could not be installed')
}

function peerFile(path: string): string {
  return join(here, 'node_modules', path)
}

/**
 * Makes a program from a package executable, since packing may have lost its mode.
 * Returns its path, or undefined if it is missing.
 */
export function executable(path: string): string | undefined {
  if (!existsSync(path)) return undefined
  chmodSync(path, 0o755)
  return path
}

/** Strips the types from TypeScript and compiles decorators as Nest needs them. */
export function stripDecorators(source: string): string {
  const { transformSync } = createRequire(createRequire(import.meta.url).resolve('tsup'))('esbuild')
  const tsconfigRaw = { compilerOptions: { experimentalDecorators: true } }
  return transformSync(source, { loader: 'ts', format: 'esm', target: 'es2022', tsconfigRaw }).code
}
