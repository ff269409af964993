import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { longFormVariable } from './test/support/fault.ts'
import { clientsVariable, isFastLane, recordVariable } from './test/support/lane.ts'
import { faultVariable } from './test/support/programs.ts'

const globalSetup = ['test/support/global-setup.ts']

/** Files that start servers as programs or hold several connections themselves, and so cannot test a pool of one. */
const needsMoreConnections = ['programs', '*-servers', 'secret-rotation-guide', 'sdk-feed'].map(
  (name) => `test/contract/${name}.test.ts`,
)
/** Files about callers that race with each other, which proves less if they queue for a single connection. */
const races = ['concurrency', '*-races', 'revocation-feed', 'outbox', 'users-system-admins'].map(
  (name) => `test/contract/${name}.test.ts`,
)

/** Files about the process of the service, for which one database is enough. */
const aboutProcess = ['hash-fairness', 'production-secrets'].map((name) => `test/contract/${name}.test.ts`)

/** Files about statements that the two databases may run differently. */
const aboutStatements = [
  'audit',
  'deep-check',
  'grants',
  'grants-of-many',
  'login',
  'migrations',
  'organizations',
  'permissions',
  'pools-admin',
  'properties',
  'query-plans',
  'refresh',
  'registration',
  'retention',
  'roles',
  'round-trips',
  'secrecy',
  'stats',
  'users',
  'users-erase',
  'users-import',
].map((name) => `test/contract/${name}.test.ts`)

/** Files that take long and seldom fail, and files that repeat `npm run check`. */
const fullLaneOnly = isFastLane
  ? [
      'packages/server/src/adapters/password-hasher',
      'test/cli/{completion,dashboard,declarative-round-trip,long-lists,on-call,probe,probe-examples}',
      'test/cli/openid-{clients,node-red}',
      'test/cli/{runbooks,secret-rotation,terminal,top,update-notice,user-import}',
      'test/contract/{*-servers,secret-rotation-guide,hash-fairness,input-costs,production-secrets,programs,released-schema,restore}',
      'test/e2e/{api-reference,authctl-login,behind-proxies,browser-spa,dashboard,hosted-express,hosted-spa,npm-start,oidc-client-ts,passkeys,quickstart-page,react,sign-in-page,site,sso-spa,step-up}',
      'test/faults/*',
      'test/packaging/{example-tests,next-scaffold,packages,programs,quickstarts,sdk,single-file}',
      'test/workspace/check',
      'test/workspace/{deployment,sdk-examples}',
    ].map((name) => `${name}.test.ts`)
  : []

/** Files that need Chromium. */
const inBrowser = [
  'account-page',
  'account-pages',
  'api-reference',
  'authctl-login',
  'browser-spa',
  'dashboard',
  'hosted-express',
  'hosted-spa',
  'mails',
  'oidc-client-ts',
  'passkeys',
  'quickstart-page',
  'react',
  'sign-in-page',
  'sign-in-page-states',
  'site',
  'sso-spa',
  'step-up',
].map((name) => `test/e2e/${name}.test.ts`)

/** The black-box tests run on both databases; `test/support/` reads the settings. */
const onDatabase = (
  name: 'sqlite' | 'postgres' | 'postgres, many connections',
  { include = ['test/contract/**/*.test.ts'], exclude = [] as string[], env = {} },
) => ({
  extends: true as const,
  test: {
    name,
    include,
    exclude: [...exclude, ...fullLaneOnly],
    env: { TEST_DATABASE: name.split(',')[0]!, ...env },
    globalSetup: [...globalSetup, 'test/support/reply-coverage.ts'],
  },
})

const compete = [...needsMoreConnections, ...races]

/**
 * Each file runs on one database: on Postgres if callers compete, which proves less on SQLite with its single writer, otherwise
 * on SQLite. Those about statements run on both. Each connection costs Postgres a process, and five callers at once are enough.
 */
const fastOnDatabases = [
  onDatabase('sqlite', { exclude: compete }),
  onDatabase('postgres, many connections', { include: [...compete, ...aboutStatements], env: { TEST_POOL_MAX: '5' } }),
]
const fullOnDatabases = [
  onDatabase('sqlite', {}),
  // With a pool of one, a query that should be in a transaction but is not waits for ever for the connection that the
  // transaction holds.
  onDatabase('postgres', { exclude: [...compete, ...aboutProcess], env: { TEST_POOL_MAX: '1' } }),
  onDatabase('postgres, many connections', { include: compete }),
]

export default defineConfig({
  test: {
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // On a busy machine an awaited condition may be late, which is not a failure.
    expect: { poll: { timeout: 60_000 } },
    setupFiles: [
      'test/support/end-with-parent.ts',
      'test/support/end-with-file.ts',
      ...(recordVariable in process.env ? ['test/support/record-replies.ts'] : []),
    ],
    // One more than there are cores, because tests of programs spend half of their time waiting for them.
    maxWorkers: availableParallelism() + 1,
    // Imports the server once per worker instead of once per file. So a test file must not leave state behind in a module.
    isolate: false,
    // Node loads our sources itself, because calls between modules that Vite has loaded are slower. `npm run mutants` needs Vite to
    // plant its faults.
    server: { deps: { external: faultVariable in process.env ? [] : [/\/packages\/(cli|sdk|server)\/src\/(?!.*\.test\.)/] } },
    reporters: ['default', './test/support/plain-summary.ts', './test/support/stuck-files.ts'],
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['packages/*/src/**/*.test.ts', 'test/bench/support/*.test.ts'], exclude: fullLaneOnly },
      },
      ...(isFastLane ? fastOnDatabases : fullOnDatabases),
      {
        extends: true,
        test: {
          name: 'programs',
          include: ['test/{cli,e2e,packaging,workspace}/**/*.test.ts'],
          exclude: [
            ...configDefaults.exclude,
            ...inBrowser,
            ...fullLaneOnly,
            ...(clientsVariable in process.env ? [] : ['test/cli/openid-go.test.ts']),
          ],
          globalSetup,
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: inBrowser,
          exclude: fullLaneOnly,
          globalSetup: [...globalSetup, 'test/support/browser-setup.ts'],
        },
      },
      // Whole sign-ins in a browser also run on PostgreSQL.
      ...(isFastLane
        ? []
        : [
            {
              extends: true as const,
              test: {
                name: 'browser, postgres',
                include: ['authctl-login', 'hosted-spa', 'passkeys', 'sign-in-page'].map((name) => `test/e2e/${name}.test.ts`),
                env: { TEST_DATABASE: 'postgres' },
                globalSetup: [...globalSetup, 'test/support/browser-setup.ts'],
              },
            },
          ]),
      // These tests reach the time limits of the service, so they run with the limits that operators have.
      {
        extends: true,
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          // Patroni's primary would lose its five-second lease on a machine that is busy with other tests.
          exclude: [...fullLaneOnly, ...(process.env[longFormVariable] === undefined ? ['test/faults/failover.test.ts'] : [])],
          globalSetup,
          env: { TEST_LIMITS: 'real' },
        },
      },
    ],
  },
})
