// Finds a Chromium for the tests: an installed one, or, on Debian, one that is fetched.
// Works on a machine that has only Node and npm.
import { existsSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { librariesIn, unpackFromDebian } from './debian-packages.ts'

const names = ['chromium', 'chromium-headless-shell', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome.exe']
const macPath = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'
/** Installed without their recommended packages, which make up a desktop. */
const debianPackages = ['chromium-headless-shell', 'fonts-dejavu-core']

export interface Chromium {
  executablePath: string
  /** Environment variables that it needs to find the libraries and fonts that it came with. */
  env: Record<string, string>
}

/** Throws a one-line error that says how to get one if none is installed and none can be fetched. */
export async function provideChromium(): Promise<Chromium> {
  const named = process.env.CHROMIUM_PATH
  if (named !== undefined && !existsSync(named)) throw new Error(`CHROMIUM_PATH is ${named}, where nothing is`)
  const installed = named ?? findInstalled()
  if (installed !== undefined) return { executablePath: installed, env: {} }
  const unpacked = await unpackFromDebian('chromium', debianPackages, '100 MB').catch((error: Error) => {
    throw new Error(`${error.message}: install Chromium, or name one in CHROMIUM_PATH`)
  })
  return describeUnpacked(unpacked)
}

function findInstalled(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  const candidates = [...folders.flatMap((folder) => names.map((name) => join(folder, name))), macPath]
  return candidates.find((path) => existsSync(path))
}

function describeUnpacked(unpacked: string): Chromium {
  const fonts = join(unpacked, 'fonts.conf')
  const folders = [join(unpacked, 'usr', 'share', 'fonts'), '/usr/share/fonts']
  if (!existsSync(fonts)) {
    const lines = [...folders.map((folder) => `<dir>${folder}</dir>`), `<cachedir>${join(unpacked, 'font-cache')}</cachedir>`]
    writeFileSync(fonts, `<?xml version="1.0"?><fontconfig>${lines.join('')}</fontconfig>\n`)
  }
  const executablePath = join(unpacked, 'usr', 'lib', 'chromium', 'chromium-headless-shell')
  const own = dirname(executablePath)
  const path = librariesIn(unpacked).filter((folder) => folder !== own)
  return { executablePath, env: { LD_LIBRARY_PATH: path.join(delimiter), FONTCONFIG_FILE: fonts } }
}
