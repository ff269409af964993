// Fetches programs from npm that only some tests need, into the git-ignored `.runtime/`: they are too large to install for everybody.
// `test/fixtures/npm/` has their lockfiles. After a change of a `package.json` there, run `npm install --package-lock-only` beside it.
import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const runtime = fileURLToPath(new URL('../../.runtime/', import.meta.url))
const locked = fileURLToPath(new URL('../fixtures/npm/', import.meta.url))

/**
 * Returns the folder that holds what a lockfile lists, in `node_modules/`. Install scripts do not run. It is moved into place as a
 * whole, so another process never finds half of it. Throws a one-line error if it cannot be fetched.
 */
export async function fetchFromNpm(name: string, size: string): Promise<string> {
  const lockfile = readFileSync(join(locked, name, 'package-lock.json'))
  const fetched = join(runtime, `${name}-${hash('sha256', lockfile).slice(0, 8)}`)
  if (existsSync(fetched)) return fetched
  process.stderr.write(`[gatehouse] fetching ${name} (${size}) from npm into .runtime/ (once)\n`)
  mkdirSync(runtime, { recursive: true })
  const staging = mkdtempSync(join(runtime, `fetch-${name}-`))
  try {
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(locked, name, file), join(staging, file))
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    await run('npm', ['ci', ...options, '--prefix', staging], { cwd: staging, maxBuffer: 1e7 })
    renameSync(staging, fetched)
  } catch (error) {
    // Another process may have fetched it in the meantime.
    if (existsSync(fetched)) return fetched
    const said = error as { stderr?: string; message: string }
    throw new Error(`${name} could not be fetched (${(said.stderr || said.message).trim().split('\n').at(-1)})`)
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
  return fetched
}
