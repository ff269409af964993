// The unit tests that `npm run mutants:unit` runs against each mutant.
import { defineConfig } from 'vitest/config'

const core = ['define-permissions', 'errors', 'hints', 'inspect', 'known-revocations', 'principal', 'seen-tokens']

export default defineConfig({
  test: {
    include: [
      'packages/server/src/lib/*.test.ts',
      `packages/sdk/src/{${[...core, 'verify-token', 'webhooks'].join(',')}}.test.ts`,
    ],
    testTimeout: 60_000,
    root: new URL('../..', import.meta.url).pathname,
  },
})
