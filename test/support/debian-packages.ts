// Fetches programs that only Debian packages, and unpacks them into the git-ignored `.runtime/`,
// without root and without changing the system.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const runtime = fileURLToPath(new URL('../../.runtime/', import.meta.url))

/**
 * Returns the folder that holds these packages and their dependencies, laid out like `/`, with `usr/` in it. Fetches it if it is
 * missing. It is moved into place as a whole, so another process never finds half of it. Throws a one-line error if this is not
 * Debian or nothing can be fetched.
 */
export async function unpackFromDebian(name: string, packages: readonly string[], size: string): Promise<string> {
  const unpacked = join(runtime, name)
  if (existsSync(unpacked)) return unpacked
  if (!isDebian()) throw new Error(`there is no ${name} on this machine`)
  process.stderr.write(`[gatehouse] no ${name} on this machine: fetching it (${size}) from Debian into .runtime/ (once)\n`)
  mkdirSync(runtime, { recursive: true })
  const staging = mkdtempSync(join(runtime, `fetch-${name}-`))
  try {
    for (const archive of await downloadPackages(staging, packages)) {
      await run('dpkg', ['--extract', archive, join(staging, 'root')])
    }
    renameSync(join(staging, 'root'), unpacked)
  } catch (error) {
    // Another process may have fetched it in the meantime.
    if (existsSync(unpacked)) return unpacked
    const said = error as { stderr?: string; message: string }
    throw new Error(`${name} could not be fetched (${(said.stderr || said.message).trim().split('\n').at(-1)})`)
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
  return unpacked
}

/** The folders of an unpacked tree that contain shared libraries, for LD_LIBRARY_PATH. None if the machine has all of them. */
export function librariesIn(unpacked: string): string[] {
  const folder = join(unpacked, 'usr', 'lib')
  if (!existsSync(folder)) return []
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  return [...new Set(files.filter(({ name }) => name.includes('.so')).map(({ parentPath }) => parentPath))]
}

function isDebian(): boolean {
  const file = '/etc/os-release'
  // On Ubuntu, packages of these names may be empty and only point elsewhere.
  return process.platform === 'linux' && existsSync(file) && /^ID=debian$/m.test(readFileSync(file, 'utf8'))
}

/** Keeps apt's lists and archives in the same folder. */
async function downloadPackages(folder: string, packages: readonly string[]): Promise<string[]> {
  for (const name of ['state/lists/partial', 'cache/archives/partial', 'root']) mkdirSync(join(folder, name), { recursive: true })
  const settings = [
    `Dir::State=${folder}/state`,
    `Dir::Cache=${folder}/cache`,
    'Dir::State::status=/var/lib/dpkg/status',
    'Debug::NoLocking=true',
    // When apt runs as root, it downloads under an account that may not write here.
    'APT::Sandbox::User=root',
  ].flatMap((setting) => ['--option', setting])
  await run('apt-get', [...settings, '--quiet=2', 'update'])
  const install = ['install', '--yes', '--reinstall', '--no-install-recommends', '--download-only', ...packages]
  await run('apt-get', [...settings, '--quiet=2', ...install])
  const archives = join(folder, 'cache', 'archives')
  return readdirSync(archives).flatMap((name) => (name.endsWith('.deb') ? join(archives, name) : []))
}
