// Checks that no two folders of the server or the command line import from each other, directly or through others. Prints each
// cycle of folders and the imports that close it; exits with 1 if there is one.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const imported = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g

/** An import from one folder into another. */
interface Import {
  from: string
  to: string
  line: string
}

for (const source of ['packages/server/src', 'packages/cli/src']) {
  const imports = importsIn(source)
  for (const ring of ringsOf(imports)) {
    console.error(`${source}: ${ring.join(', ')} import each other`)
    for (const { from, to, line } of imports) if (ring.includes(from) && ring.includes(to)) console.error(`  ${line}`)
    process.exitCode = 1
  }
}

/** Leaves out files at the top level, because they put the folders together. */
function importsIn(source: string): Import[] {
  const files = globSync('*/**/*.ts', { cwd: join(root, source) }).filter((file) => !file.endsWith('.test.ts'))
  return files.sort().flatMap((file) => {
    const from = dirname(file)
    const targets = readFileSync(join(root, source, file), 'utf8').matchAll(imported)
    return Array.from(targets, ([, path = '']) => join(from, path))
      .map((target) => ({ from, to: dirname(target), line: `${file} → ${target}` }))
      .filter(({ to }) => to !== from && to !== '.' && !to.startsWith('..'))
  })
}

/** The cycles: each is a group of folders that all reach each other through imports. */
function ringsOf(imports: readonly Import[]): string[][] {
  const folders = [...new Set(imports.map(({ from }) => from))].sort()
  const reached = new Map(folders.map((folder) => [folder, reachedFrom(folder, imports)]))
  const reach = (from: string, to: string) => reached.get(from)?.has(to) ?? false
  const rings = folders
    .filter((folder) => reach(folder, folder))
    .map((folder) => folders.filter((other) => reach(folder, other) && reach(other, folder)))
  return rings.filter(([first], index) => rings.findIndex((ring) => ring[0] === first) === index)
}

function reachedFrom(folder: string, imports: readonly Import[]): Set<string> {
  const reached = new Set<string>()
  const next = [folder]
  for (let at = next.pop(); at !== undefined; at = next.pop()) {
    for (const { from, to } of imports) {
      if (from !== at || reached.has(to)) continue
      reached.add(to)
      next.push(to)
    }
  }
  return reached
}
