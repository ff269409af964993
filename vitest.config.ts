import { availableParallelism } from 'node:os'
import { defaultServerConditions } from 'vite'
import { defineConfig } from 'vitest/config'

const globalSetup = ['test/support/global-setup.ts']

/** The black-box tests run twice, once on each database; `test/support/` reads the setting. */
const onDatabase = (database: 'sqlite' | 'postgres') => ({
  extends: true as const,
  test: {
    name: database,
    include: ['test/contract/**/*.test.ts'],
    env: { TEST_DATABASE: database },
    globalSetup: [...globalSetup, 'test/support/reply-coverage.ts'],
  },
})

export default defineConfig({
  // Packages of the workspace are tested from their sources: what is edited is what runs, without a build between.
  ssr: { resolve: { conditions: ['source', ...defaultServerConditions] } },
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    setupFiles: ['test/support/end-with-parent.ts'],
    // Vitest's own default leaves one core idle, which on two cores is half of the machine.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // The server is imported once per worker instead of once per file; a test file leaves nothing behind in a module.
    isolate: false,
    reporters: ['default', './test/support/plain-summary.ts'],
    projects: [
      { extends: true, test: { name: 'unit', include: ['packages/*/src/**/*.test.ts'] } },
      onDatabase('sqlite'),
      onDatabase('postgres'),
      {
        extends: true,
        test: {
          name: 'programs',
          include: ['test/{cli,e2e,faults,packaging,workspace}/**/*.test.ts', 'examples/**/*.test.ts'],
          globalSetup,
        },
      },
    ],
  },
})
