import { createRequire } from 'node:module'

/**
 * Loads a package without caching its modules, nor those that it loads in turn, each of which would keep the one that loaded it.
 * Use it for word lists of megabytes that are needed once or in part.
 */
export function requireOnce<T>(name: string): T {
  const require = createRequire(import.meta.url)
  const before = new Set(Object.keys(require.cache))
  const loaded: T = require(name)
  for (const file of Object.keys(require.cache)) if (!before.has(file)) delete require.cache[file]
  return loaded
}
