import { createRequire } from 'node:module'
import { dirname } from 'node:path'

/** A package whose modules are not kept: for those that bring megabytes of words of which only some are needed, or only once. */
export function requireOnce<T>(name: string): T {
  const require = createRequire(import.meta.url)
  const path = require.resolve(name)
  const loaded: T = require(path)
  for (const file of Object.keys(require.cache)) if (file.startsWith(dirname(path))) delete require.cache[file]
  return loaded
}
