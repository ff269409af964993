import { defineConfig } from 'tsup'

export default defineConfig({
  entry: { authctl: 'src/authctl.ts' },
  format: ['esm'],
  target: 'node24',
  clean: true,
})
