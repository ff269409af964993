// Reads the files that operators and maintainers use, parsed as the tools parse them.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Json } from './client.ts'

export const root = fileURLToPath(new URL('../..', import.meta.url))

// Takes the command line's YAML parser, so that the tests need not list it as well.
const { parseAllDocuments } = createRequire(join(root, 'packages/cli/package.json'))('yaml') as {
  parseAllDocuments(text: string): { errors: Error[]; toJS(): unknown }[]
}

export function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

/** Returns the documents of a YAML text. Throws if the text is not YAML. */
export function parseYaml(text: string): Json[] {
  return parseAllDocuments(text).map((document) => {
    const [fault] = document.errors
    if (fault) throw fault
    return document.toJS() as Json
  })
}

export function readYaml(path: string): Json {
  const [document] = parseYaml(readText(path))
  return document ?? {}
}

/** Whether the page and the heading of a reference such as `docs/reference/metrics-and-logs.md#logs` exist. */
export function isInDocs(reference: string): boolean {
  const [page = '', anchor] = reference.split('#')
  try {
    const headings = readText(page)
      .split('\n')
      .filter((line) => line.startsWith('#'))
      .map((line) =>
        line
          .replace(/^#+ /, '')
          .toLowerCase()
          .replace(/[^a-z0-9 -]/g, '')
          .replaceAll(' ', '-'),
      )
    return anchor === undefined || headings.includes(anchor)
  } catch {
    return false
  }
}
