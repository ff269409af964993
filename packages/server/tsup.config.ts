import { defineConfig } from 'tsup'

export default defineConfig({
  entry: { gatehouse: 'src/gatehouse.ts', 'hash-worker': 'src/lib/hash-worker.ts' },
  format: ['esm'],
  target: 'node24',
  splitting: false,
  sourcemap: true,
  clean: true,
})
