import { defineConfig } from 'tsup'

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    koa: 'src/koa.ts',
    express: 'src/express.ts',
    fastify: 'src/fastify.ts',
    hono: 'src/hono.ts',
    browser: 'src/browser/index.ts',
    inspect: 'src/inspect.ts',
    protocol: 'src/protocol.ts',
    testing: 'src/testing/index.ts',
  },
  format: ['esm', 'cjs'],
  target: 'node20',
  dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
  splitting: true,
  removeNodeProtocol: false,
  clean: true,
})
