import { defineConfig } from 'tsup'

export default defineConfig({
  entry: { gatehouse: 'src/gatehouse.ts', 'hash-worker': 'src/adapters/hash-worker.ts' },
  format: ['esm'],
  target: 'node24',
  // What is used of the SDK becomes part of the program, from its sources: no build need come first.
  esbuildOptions(options) {
    options.conditions = ['source']
  },
  // What the program stands on is loaded by its bin, after the bin has spoken to V8.
  splitting: true,
  sourcemap: true,
  clean: true,
})
