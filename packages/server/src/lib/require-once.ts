import { createRequire } from 'node:module'

/**
 * Loads a package and leaves neither its modules nor those of its dependencies in the cache, where each would keep the module that
 * loaded it. Use it for word lists of megabytes that are needed once or in part.
 */
export function requireOnce<T>(name: string): T {
  const require = createRequire(import.meta.url)
  const before = new Set(Object.keys(require.cache))
  const loaded: T = require(name)
  for (const file of Object.keys(require.cache)) if (!before.has(file)) delete require.cache[file]
  return loaded
}
