import { defineConfig } from 'tsup'

export default defineConfig({
  entry: { gatehouse: 'src/gatehouse.ts', 'hash-worker': 'src/adapters/hash-worker.ts' },
  format: ['esm'],
  target: 'node24',
  // What the program stands on is loaded by its bin, after the bin has spoken to V8.
  splitting: true,
  sourcemap: true,
  clean: true,
})
