import { defineConfig } from 'tsup'

export default defineConfig({
  entry: { authctl: 'src/authctl.ts' },
  format: ['esm'],
  target: 'node24',
  // What is used of the SDK becomes part of the program, from its sources: no build need come first.
  esbuildOptions(options) {
    options.conditions = ['source']
  },
  clean: true,
})
