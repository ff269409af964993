import { createRequire } from 'node:module'
import { dirname } from 'node:path'

/** Loads a package without caching its modules. Use it for word lists of megabytes that are needed once or in part. */
export function requireOnce<T>(name: string): T {
  const require = createRequire(import.meta.url)
  const path = require.resolve(name)
  const loaded: T = require(path)
  for (const file of Object.keys(require.cache)) if (file.startsWith(dirname(path))) delete require.cache[file]
  return loaded
}
