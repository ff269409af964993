// Checks that you can find the file of a use case by what it does: it exports a function, class or type of its own name, or one
// whose name begins with that. A file of three or more functions is named after what they are about. Also checks that each name in
// the server is exported from only one file.
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** Files that each feature has, and parts of pages. Their names need no such export. */
const otherFiles = /(^|-)(routes|schema|present|views|parts)[.]ts$|[.]test[.]ts$/
const functions = /^export (?:async )?function/gm
const exported = /^export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm

const filesOf = new Map<string, string[]>()

for (const file of globSync('packages/server/src/**/*.ts', { cwd: root, exclude: ['**/*.test.ts'] }).sort()) {
  // Migrations export the functions that the runner calls.
  if (/\/migrations\/\d/.test(file)) continue
  const source = readFileSync(join(root, file), 'utf8')
  const names = Array.from(source.matchAll(exported), ([, name = '']) => name)
  for (const name of new Set(names)) filesOf.set(name, [...(filesOf.get(name) ?? []), file])
  if (!/src\/(?:resources|flows)\//.test(file) || otherFiles.test(basename(file))) continue
  const wanted = basename(file, '.ts').replaceAll('-', '')
  if (names.some((name) => name.toLowerCase().startsWith(wanted)) || (source.match(functions)?.length ?? 0) >= 3) continue
  console.error(`${file} exports nothing that begins with its name: ${names.join(', ')}`)
  process.exitCode = 1
}

for (const [name, files] of filesOf) {
  if (files.length === 1) continue
  console.error(`${name} is exported from ${files.join(' and ')}`)
  process.exitCode = 1
}
