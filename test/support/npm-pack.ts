// Packs packages with npm, as they would go to the registry.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const packages = ['sdk', 'cli', 'server'] as const
export type PackageName = (typeof packages)[number]

export const packageFolder = (name: PackageName) => fileURLToPath(new URL(`../../packages/${name}`, import.meta.url))

/** Packs a package into a folder and returns the path of the tarball. */
export function npmPack(name: PackageName, folder: string): string {
  mkdirSync(folder, { recursive: true })
  execFileSync('npm', ['pack', '--pack-destination', folder], { cwd: packageFolder(name), stdio: 'pipe' })
  const tarball = readdirSync(folder).find((file) => file.startsWith(`gatehouse-${name}-`) && file.endsWith('.tgz'))
  return join(folder, tarball!)
}

/** Unpacks a tarball into a folder, without the top folder that npm adds. */
export function unpack(tarball: string, folder: string): void {
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1'])
}
