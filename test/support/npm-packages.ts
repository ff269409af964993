// Fetches programs from npm that only some tests need, into the git-ignored `.runtime/`: they are too large to install for everybody.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const runtime = fileURLToPath(new URL('../../.runtime/', import.meta.url))

/**
 * Returns the folder that holds these packages, in `node_modules/`. Their install scripts do not run. It is moved into place as a whole,
 * so another process never finds half of it. Throws a one-line error if they cannot be fetched.
 */
export async function fetchFromNpm(name: string, packages: readonly string[], size: string): Promise<string> {
  const fetched = join(runtime, name)
  if (existsSync(fetched)) return fetched
  process.stderr.write(`[gatehouse] fetching ${packages.join(' ')} (${size}) from npm into .runtime/ (once)\n`)
  mkdirSync(runtime, { recursive: true })
  const staging = mkdtempSync(join(runtime, `fetch-${name}-`))
  try {
    writeFileSync(join(staging, 'package.json'), '{"private":true}\n')
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    await run('npm', ['install', ...options, '--prefix', staging, ...packages], { cwd: staging, maxBuffer: 1e7 })
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
