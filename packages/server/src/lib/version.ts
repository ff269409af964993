import manifest from '../../package.json' with { type: 'json' }

/** The version of this server, as `/health` and the OpenAPI document name it. */
export const version: string = manifest.version

/**
 * Whether a version is another one or later. What follows a hyphen, as in `0.2.0-rc.1`, does not count.
 *
 * @example isAtLeast('0.10.0', '0.9.3') // true
 */
export function isAtLeast(version: string, oldest: string): boolean {
  const theirs = numbersIn(oldest)
  for (const [index, ours] of numbersIn(version).entries()) {
    const other = theirs[index] ?? 0
    if (ours !== other) return ours > other
  }
  return true
}

function numbersIn(version: string): number[] {
  return version.replace(/-.*/, '').split('.').map(Number)
}
