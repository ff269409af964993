import { defineConfig } from 'tsup'
import sources from './src/package.json' with { type: 'json' }

/** `./koa` is built from `./koa.ts`, `.` is the index. */
const entry = Object.fromEntries(
  Object.entries(sources.exports).map(([name, file]) => [name.slice('./'.length) || 'index', `src/${file.slice('./'.length)}`]),
)

export default defineConfig({
  entry,
  format: ['esm', 'cjs'],
  target: 'node20',
  // What is bundled takes its types along.
  dts: { compilerOptions: { ignoreDeprecations: '6.0' }, resolve: ['openapi-fetch', 'openapi-typescript-helpers'] },
  splitting: true,
  removeNodeProtocol: false,
  clean: true,
})
