import { defineConfig } from 'tsup'

export default defineConfig({
  entry: ['src/index.ts', 'src/koa.ts'],
  format: ['esm', 'cjs'],
  target: 'node20',
  dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
  splitting: true,
  clean: true,
})
