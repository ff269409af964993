// The parts of the server that `server-instance.ts` puts together. Bundled like the
// programs, they load ten times as fast as sources.

export { createLogger } from '../../packages/server/src/adapters/logger.ts'
export { PasswordHasher } from '../../packages/server/src/adapters/password-hasher.ts'
export { loadConfig } from '../../packages/server/src/config.ts'
export { createDeps } from '../../packages/server/src/deps.ts'
export { serve } from '../../packages/server/src/serve.ts'
