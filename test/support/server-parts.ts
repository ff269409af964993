// The parts of the server that `server-instance.ts` puts together, bundled like its programs: loaded ten times as fast as its sources.
export { loadConfig } from '../../packages/server/src/config.ts'
export { createDeps, createLogger } from '../../packages/server/src/deps.ts'
export { PasswordHasher } from '../../packages/server/src/lib/password-hasher.ts'
export { serve } from '../../packages/server/src/serve.ts'
