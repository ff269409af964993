#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import envPaths from 'env-paths'
import { version } from './command-line/version.ts'
import { guardOutput } from './terminal/guard-output.ts'

if (process.argv.slice(2).join(' ') === '--version') {
  // Scripts ask this often, and nothing else is needed for it.
  guardOutput((exit) => exit())
  process.stdout.write(`${version}\n`)
} else {
  const folders = envPaths('authctl', { suffix: '' })
  // What is compiled once is kept for the next start, where nobody else can write.
  enableCompileCache(folders.cache)
  const { run } = await import('./run.ts')
  await run(folders.config)
}
