import { fileURLToPath } from 'node:url'

/** Environment for workers, and for programs that tests start: with Node's compile cache they start in half the time. */
export const compileCache = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/node-compile', import.meta.url)),
}
