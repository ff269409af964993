// A file of a use-case is found by what it does: it exports a function, class or type of its own name, or one whose name begins with it.
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** What each feature has, and the parts of pages. */
const otherFiles = /(^|-)(routes|schema|present|views|parts)[.]ts$|[.]test[.]ts$/
const exported = /^export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm

for (const file of globSync('packages/server/src/{resources,flows}/*/*.ts', { cwd: root }).sort()) {
  if (otherFiles.test(basename(file))) continue
  const wanted = basename(file, '.ts').replaceAll('-', '')
  const names = Array.from(readFileSync(join(root, file), 'utf8').matchAll(exported), ([, name = '']) => name)
  if (names.some((name) => name.toLowerCase().startsWith(wanted))) continue
  console.error(`${file} exports nothing of its name: ${names.join(', ')}`)
  process.exitCode = 1
}
