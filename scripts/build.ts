// Builds the named packages, each with its tsup.config.ts. `run.mjs` names those whose sources changed.
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const stagingPrefix = '.dist-'

/**
 * Builds beside `dist/` and then swaps the folders: a running server never sees half a build, and a failed build changes nothing.
 */
async function buildPackage(name: string): Promise<boolean> {
  const folder = join(root, 'packages', name)
  for (const leftover of readdirSync(folder)) {
    if (leftover.startsWith(stagingPrefix)) rmSync(join(folder, leftover), { recursive: true, force: true })
  }
  const staging = join(folder, `${stagingPrefix}${process.pid}`)
  mkdirSync(staging)
  // Git, and tools that respect .gitignore, skip the folder while it exists.
  const ignore = join(staging, '.gitignore')
  writeFileSync(ignore, '*\n')

  const child = spawn(join(root, 'node_modules', '.bin', 'tsup'), ['--silent', '--out-dir', staging], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('exit', resolve))
  if (code !== 0) {
    rmSync(staging, { recursive: true, force: true })
    return false
  }
  rmSync(ignore, { force: true })
  const previous = `${staging}-previous`
  const dist = join(folder, 'dist')
  try {
    renameSync(dist, previous)
  } catch {
    // The first time, there is no old build to replace.
  }
  renameSync(staging, dist)
  rmSync(previous, { recursive: true, force: true })
  return true
}

const results = await Promise.all(process.argv.slice(2).map(buildPackage))
if (results.includes(false)) process.exitCode = 1
