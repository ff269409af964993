// Checks that no text cites a section of a document outside this repository, such as `decisions` or `contract` with a number.
// Readers have only the repository.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const citation = /\b(?:decisions|contract) §?\d/i

for (const file of globSync('{packages/*/src,scripts,test,docs,examples}/**/*.{ts,mjs,md}', {
  cwd: root,
  exclude: ['**/node_modules/**'],
}).sort()) {
  const lines = readFileSync(join(root, file), 'utf8').split('\n')
  for (const [index, line] of lines.entries()) {
    if (!citation.test(line)) continue
    console.error(`${file}:${index + 1} cites a document that is not in the repository: ${line.trim()}`)
    process.exitCode = 1
  }
}
