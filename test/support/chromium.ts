// A Chromium for the tests, on a machine that has only Node and npm. One that is installed is taken; on Debian one is fetched into
// the git-ignored `.runtime/`, without root and without a change to the system.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const runtime = fileURLToPath(new URL('../../.runtime/', import.meta.url))
const unpacked = join(runtime, 'chromium')
const names = ['chromium', 'chromium-headless-shell', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome.exe']
const macPath = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'
/** Without its recommendations: they are a desktop. */
const debianPackages = ['chromium-headless-shell', 'fonts-dejavu-core']
const advice = 'install Chromium, or name one in CHROMIUM_PATH'

export interface Chromium {
  executablePath: string
  /** What it needs in its environment to find the libraries and fonts it came with. */
  env: Record<string, string>
}

/** Throws, in one line that says how to get one, when there is none and none can be fetched here. */
export async function provideChromium(): Promise<Chromium> {
  const named = process.env.CHROMIUM_PATH
  if (named !== undefined && !existsSync(named)) throw new Error(`CHROMIUM_PATH is ${named}, where nothing is`)
  const installed = named ?? findInstalled()
  if (installed !== undefined) return { executablePath: installed, env: {} }
  if (!existsSync(unpacked)) await fetchFromDebian()
  return describeUnpacked()
}

function findInstalled(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  const candidates = [...folders.flatMap((folder) => names.map((name) => join(folder, name))), macPath]
  return candidates.find((path) => existsSync(path))
}

/** With apt's lists and archives in the same folder; moved into place whole, so that nobody meets half of it. */
async function fetchFromDebian(): Promise<void> {
  if (!isDebian()) throw new Error(`no browser on this machine: ${advice}`)
  process.stderr.write('[gatehouse] no browser on this machine: fetching Chromium (100 MB) from Debian into .runtime/ (once)\n')
  mkdirSync(runtime, { recursive: true })
  const staging = mkdtempSync(join(runtime, 'fetch-chromium-'))
  try {
    for (const archive of await downloadPackages(staging)) await run('dpkg', ['--extract', archive, join(staging, 'root')])
    renameSync(join(staging, 'root'), unpacked)
  } catch (error) {
    // Another process that fetches at the same time may have been first.
    if (existsSync(unpacked)) return
    const said = error as { stderr?: string; message: string }
    throw new Error(`Chromium could not be fetched (${(said.stderr || said.message).trim().split('\n').at(-1)}): ${advice}`)
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

function isDebian(): boolean {
  const file = '/etc/os-release'
  // Ubuntu's package of that name holds no browser.
  return process.platform === 'linux' && existsSync(file) && /^ID=debian$/m.test(readFileSync(file, 'utf8'))
}

async function downloadPackages(folder: string): Promise<string[]> {
  for (const name of ['state/lists/partial', 'cache/archives/partial', 'root']) mkdirSync(join(folder, name), { recursive: true })
  const settings = [
    `Dir::State=${folder}/state`,
    `Dir::Cache=${folder}/cache`,
    'Dir::State::status=/var/lib/dpkg/status',
    'Debug::NoLocking=true',
    // As root, apt would download as an account that may not write here.
    'APT::Sandbox::User=root',
  ].flatMap((setting) => ['--option', setting])
  await run('apt-get', [...settings, '--quiet=2', 'update'])
  const install = ['install', '--yes', '--reinstall', '--no-install-recommends', '--download-only', ...debianPackages]
  await run('apt-get', [...settings, '--quiet=2', ...install])
  const archives = join(folder, 'cache', 'archives')
  return readdirSync(archives).flatMap((name) => (name.endsWith('.deb') ? join(archives, name) : []))
}

function describeUnpacked(): Chromium {
  const files = readdirSync(join(unpacked, 'usr', 'lib'), { recursive: true, withFileTypes: true })
  const libraries = new Set(files.filter(({ name }) => name.includes('.so')).map(({ parentPath }) => parentPath))
  const fonts = join(unpacked, 'fonts.conf')
  const folders = [join(unpacked, 'usr', 'share', 'fonts'), '/usr/share/fonts']
  if (!existsSync(fonts)) {
    const lines = [...folders.map((folder) => `<dir>${folder}</dir>`), `<cachedir>${join(unpacked, 'font-cache')}</cachedir>`]
    writeFileSync(fonts, `<?xml version="1.0"?><fontconfig>${lines.join('')}</fontconfig>\n`)
  }
  const executablePath = join(unpacked, 'usr', 'lib', 'chromium', 'chromium-headless-shell')
  const own = dirname(executablePath)
  const path = [...libraries].filter((folder) => folder !== own)
  return { executablePath, env: { LD_LIBRARY_PATH: path.join(delimiter), FONTCONFIG_FILE: fonts } }
}
