import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../../node_modules/.cache/node-compile', import.meta.url))

/** Environment for workers, and for programs that tests start: with Node's compile cache they start in half the time. */
export const compileCache = { NODE_COMPILE_CACHE: folder }

/**
 * The same for `gatehouse serve`. It sets flags of V8, and V8 refuses code that was compiled under other flags. If they shared a
 * cache, servers and short commands would each replace what the other left.
 */
export const compileCacheOfServers = { NODE_COMPILE_CACHE: `${folder}-serve` }
