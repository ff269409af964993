import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { longFormVariable } from './test/support/fault.ts'
import { isFastLane } from './test/support/lane.ts'
import LongestFirst from './test/support/longest-first.ts'

const globalSetup = ['test/support/global-setup.ts']

/** Files that start servers as programs or hold several connections themselves, and so cannot test a pool of one. */
const needsMoreConnections = ['programs', '*-servers', '6-rotation-guide', 'sdk-feed'].map(
  (name) => `test/contract/${name}.test.ts`,
)
/** Files about callers that race with each other, which proves little if they queue for a single connection. */
const races = ['concurrency', '4.9-pools-races', '6-revocation-feed', '6.1-outbox', 'users-system-admins'].map(
  (name) => `test/contract/${name}.test.ts`,
)
/** Files in which many callers compete, among other things. On Postgres the fast lane runs them only with many connections. */
const concurrent = [
  '4.6-permissions',
  '8.3-limits-lockout',
  'dry-run',
  'invitations',
  'sealed-audit',
  'unproven-accounts',
  'users-erase',
].map((name) => `test/contract/${name}.test.ts`)

/** Files that take long and seldom fail, and files that repeat `npm run check`. */
const fullLaneOnly = isFastLane
  ? [
      'packages/server/src/adapters/password-hasher',
      'test/cli/{completion,dashboard,declarative-round-trip,long-lists,on-call,probe,probe-examples}',
      'test/cli/{runbooks,secret-rotation,terminal,top,update-notice,user-import}',
      'test/contract/{6-rotation-guide,hash-fairness,production-secrets,programs,released-schema,restore}',
      'test/e2e/{api-reference,browser-spa,dashboard,npm-start,sso-spa}',
      'test/faults/{disk-full,hash-lanes,point-in-time,postgres-frozen,postgres-restarted,receivers-hang,refresh-killed,registration-killed}',
      'test/faults/{rolling-restart,sealer-killed,server-frozen,slow-clients,soak,webhooks-killed}',
      'test/packaging/{example-tests,packages,programs,sdk}',
      'test/workspace/check',
      'test/workspace/deployment',
    ].map((name) => `${name}.test.ts`)
  : []
/** Files whose subject is not the database. The fast lane runs them only on SQLite; the full lane runs them on both. */
const neutral = isFastLane
  ? [
      '1-conventions-replies',
      '1-conventions-routes',
      '4.2-update-app',
      '4.3-auto-provisioning',
      '6.1-webhook-admin',
      '6.1-webhook-delivery',
      '6.1-webhook-targets',
      '8.2-redirect-urls',
      '8.3-known-devices',
      '8.3-limits-account',
      '8.3-limits-address',
      'account-pages',
      'api-reference',
      'authority',
      'authorization-matrix',
      'cors',
      'explain',
      'identity-link',
      'magic-link',
      'mail-delivery',
      'mail-verification',
      'metrics',
      'monitoring',
      'openapi',
      'own-account',
      'password-blocklist',
      'password-hashes',
      'password-reset',
      'sdk-mistakes',
      'sso-hostile',
      'sso-login',
      'sso-private-hosts',
      'sso-trust',
      'token-doors',
      'trace-context',
      'two-factor',
    ].map((name) => `test/contract/${name}.test.ts`)
  : []

/** Files that need Chromium. */
const inBrowser = ['account-pages', 'api-reference', 'browser-spa', 'dashboard', 'react', 'sso-spa'].map(
  (name) => `test/e2e/${name}.test.ts`,
)

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

export default defineConfig({
  test: {
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // On a busy machine an awaited condition may be late, which is not a failure.
    expect: { poll: { timeout: 60_000 } },
    setupFiles: ['test/support/end-with-parent.ts', 'test/support/end-with-file.ts'],
    // One more than there are cores, because tests of programs spend half of their time waiting for them.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    // Imports the server once per worker instead of once per file. So a test file must not leave state behind in a module.
    isolate: false,
    reporters: ['default', './test/support/plain-summary.ts'],
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['packages/*/src/**/*.test.ts', 'test/bench/support/*.test.ts'], exclude: fullLaneOnly },
      },
      onDatabase('sqlite', {}),
      // With a pool of one, a query that should be in a transaction but is not waits for ever for
      // the connection that the transaction holds.
      onDatabase('postgres', {
        exclude: [...needsMoreConnections, ...races, ...(isFastLane ? concurrent : []), ...neutral],
        env: { TEST_POOL_MAX: '1' },
      }),
      onDatabase('postgres, many connections', {
        include: [...needsMoreConnections, ...races, ...concurrent],
        // Each connection costs PostgreSQL a process, and five callers at once are enough.
        env: isFastLane ? { TEST_POOL_MAX: '5' } : {},
      }),
      {
        extends: true,
        test: {
          name: 'programs',
          include: ['test/{cli,e2e,packaging,workspace}/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...inBrowser, ...fullLaneOnly],
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
