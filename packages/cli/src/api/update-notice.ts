import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../command-line/version.ts'
import type { World } from '../terminal/io.ts'
import { readIfThere } from '../terminal/write-file.ts'

const dayMs = 24 * 60 * 60 * 1000
/** Any value turns the notice off. */
const offVariable = 'AUTHCTL_NO_UPDATE_NOTICE'

/** Stops the check. Returns the notice if a newer version was found by then. */
export type EndLook = () => string | undefined

const nothing: EndLook = () => undefined

/**
 * Checks once a day, in parallel with the requests of a command, whether the service is newer than this program. Only on a
 * terminal, and never in CI. It asks only the service that the command uses, without a token, and nothing waits for it.
 */
export function lookForUpdate(world: World, { baseUrl, isQuiet }: { baseUrl: string; isQuiet: boolean }): EndLook {
  const { env, stdout, stderr, configFolder, now } = world
  if (isQuiet || !stdout.isTTY || !stderr.isTTY || env.CI || env[offVariable]) return nothing
  const file = join(configFolder, 'update-notice.json')
  const looks = readLooks(file)
  if (now() - (looks[baseUrl] ?? 0) < dayMs) return nothing
  const over = new AbortController()
  let found: string | undefined
  world
    .exchange({ method: 'GET', url: `${baseUrl}/api/v1/health`, headers: {}, signal: over.signal })
    .then(({ text }) => {
      found = versionIn(JSON.parse(text))
    })
    .catch(() => {})
  return () => {
    over.abort()
    if (found === undefined) return undefined
    keep(configFolder, file, { ...looks, [baseUrl]: now() })
    return isNewer(found, version) ? noticeOf(found) : undefined
  }
}

function noticeOf(found: string): string {
  return `the service has version ${found}, this authctl only ${version}: update authctl (${offVariable}=1 turns this notice off)`
}

/** When the version of each service was last seen, in milliseconds since 1970. */
function readLooks(file: string): Record<string, number> {
  try {
    return { ...JSON.parse(readIfThere(file) ?? '{}') }
  } catch {
    return {}
  }
}

function keep(folder: string, file: string, looks: Record<string, number>): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(file, JSON.stringify(looks), { mode: 0o600 })
  } catch {
    // If the file cannot be written, the next command checks again.
  }
}

function versionIn(health: unknown): string | undefined {
  const told = typeof health === 'object' && health !== null && 'version' in health ? health.version : undefined
  return typeof told === 'string' && /^\d{1,6}\.\d{1,6}\.\d{1,6}(?:-[\w.-]{1,40})?$/.test(told) ? told : undefined
}

function isNewer(one: string, other: string): boolean {
  const theirs = numbersIn(other)
  for (const [index, ours] of numbersIn(one).entries()) {
    const their = theirs[index] ?? 0
    if (ours !== their) return ours > their
  }
  return false
}

function numbersIn(version: string): number[] {
  return version.replace(/-.*/, '').split('.').map(Number)
}
