#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import envPaths from 'env-paths'
import { version } from './command-line/version.ts'
import { guardOutput } from './terminal/guard-output.ts'

if (process.argv.slice(2).join(' ') === '--version') {
  // Scripts call this often, so the rest of the program is not loaded.
  guardOutput((exit) => exit())
  process.stdout.write(`${version}\n`)
} else {
  const folders = envPaths('authctl', { suffix: '' })
  // Caches compiled code for the next start, in a folder that other users cannot write to.
  enableCompileCache(folders.cache)
  // The single file is CommonJS, which cannot wait here.
  void import('./run.ts').then(({ run }) => run(folders.config))
}
