// A file of a use-case is found by what it does: it exports a function, class or type of its own name, or one whose name begins with it.
// And of the server, a name is exported from one file.
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** What each feature has, and the parts of pages. */
const otherFiles = /(^|-)(routes|schema|present|views|parts)[.]ts$|[.]test[.]ts$/
const exported = /^export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm

const filesOf = new Map<string, string[]>()

for (const file of globSync('packages/server/src/**/*.ts', { cwd: root, exclude: ['**/*.test.ts'] }).sort()) {
  // Migrations export what the runner calls.
  if (/\/migrations\/\d/.test(file)) continue
  const names = Array.from(readFileSync(join(root, file), 'utf8').matchAll(exported), ([, name = '']) => name)
  for (const name of new Set(names)) filesOf.set(name, [...(filesOf.get(name) ?? []), file])
  if (!/src\/(?:resources|flows)\//.test(file) || otherFiles.test(basename(file))) continue
  const wanted = basename(file, '.ts').replaceAll('-', '')
  if (names.some((name) => name.toLowerCase().startsWith(wanted))) continue
  console.error(`${file} exports nothing of its name: ${names.join(', ')}`)
  process.exitCode = 1
}

for (const [name, files] of filesOf) {
  if (files.length === 1) continue
  console.error(`${name} is exported from ${files.join(' and ')}`)
  process.exitCode = 1
}
