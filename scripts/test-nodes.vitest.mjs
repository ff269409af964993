// For test-nodes.ts. Imports of the SDK's entry points in tests resolve to its build. The internal modules that a few tests
// import, and the tests themselves, come from the sources.
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const sdk = join(root, 'packages', 'sdk')
const entries = Object.fromEntries(
  ['index', 'koa', 'express', 'fastify', 'hono', 'node', 'next', 'nest', 'webhooks', 'testing'].map((name) => [
    join(sdk, 'src', name === 'testing' ? 'testing/index.ts' : `${name}.ts`),
    join(sdk, 'dist', `${name}.js`),
  ]),
)
const isTest = (file) => /[.]test[.]ts$|test-servers[.]ts$/.test(file)

const built = {
  name: 'built',
  enforce: 'pre',
  resolveId(source, importer = '') {
    if (source === 'vitest') return join(process.env.SDK_VITEST, 'dist', 'index.js')
    return source.startsWith('.') && isTest(importer) ? entries[resolve(dirname(importer), source)] : undefined
  },
  transform(code, file) {
    if (!isTest(file)) return undefined
    // For programs that a test starts.
    return code.replaceAll("new URL('./index.ts', import.meta.url)", `new URL('${pathToFileURL(join(sdk, 'dist', 'index.js'))}')`)
  },
}

export default {
  root,
  // Separate from the cache of the newer Vitest.
  cacheDir: join(root, '.runtime', 'vitest-cache'),
  plugins: [built],
  test: {
    include: ['packages/sdk/src/**/*.test.ts'],
    // Browser code does not run on Node.
    exclude: ['packages/sdk/src/browser/**'],
    pool: 'forks',
    isolate: false,
    testTimeout: 30_000,
  },
}
