import { fileURLToPath } from 'node:url'

/** For the environment of programs: they start in half the time when what Node made of them is kept. */
export const compileCache = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/node-compile', import.meta.url)),
}
