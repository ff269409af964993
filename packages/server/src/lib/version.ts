import manifest from '../../package.json' with { type: 'json' }

/** The version of this server, as `/health` and the OpenAPI document name it. */
export const version: string = manifest.version

/**
 * Whether a version is another one or later. What follows a hyphen, as in `0.2.0-rc.1`, does not count.
 *
 * @example isAtLeast('0.10.0', '0.9.3') // true
 */
export function isAtLeast(version: string, oldest: string): boolean {
  const [ours, theirs] = [version, oldest].map((text) => text.split('-')[0]!.split('.').map(Number)) as [number[], number[]]
  const first = ours.findIndex((part, index) => part !== theirs[index])
  return first === -1 || ours[first]! > theirs[first]!
}
