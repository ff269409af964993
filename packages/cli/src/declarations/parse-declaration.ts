import type { Document, LineCounter } from 'yaml'
import type { z } from 'zod'
import { Failure, messageOf } from '../command-line/exit-codes.ts'
import { readYaml } from './read-yaml.ts'
import { type Declaration, declaration as declarationSchema, type Fault } from './schema.ts'

type Path = PropertyKey[]

interface Line {
  line: number
  message: string
}

/** How many faults of a file are shown. */
const mostFaults = 100

export interface Parsed {
  declaration: Declaration
  /** As the file has it. */
  content: unknown
  /** Runs `look`. If it finds faults, throws one failure with all of them, each with its line. */
  check(look: (fault: Fault) => void): void
}

/** Parses a declaration in YAML or JSON. Throws `invalid_declaration`, which names `source`. */
export async function parseDeclaration(text: string, source: string): Promise<Parsed> {
  const { document, lineCounter, faults: syntax } = await readYaml(text)
  if (syntax.length > 0) throw invalid(source, syntax, syntax.length)
  const { isMap, isNode, isScalar, isSeq } = await import('yaml')

  /** The line of a path, or of the nearest parent that exists. */
  const lineOf = (path: Path): number => {
    let node: unknown = document.contents
    let at = document.contents?.range?.[0] ?? 0
    for (const segment of path) {
      if (isMap(node)) {
        const pair = node.items.find(({ key }) => (isScalar(key) ? String(key.value) : String(key)) === String(segment))
        if (!pair) break
        at = isNode(pair.key) ? (pair.key.range?.[0] ?? at) : at
        node = pair.value
      } else if (isSeq(node)) {
        node = node.items[Number(segment)]
        at = isNode(node) ? (node.range?.[0] ?? at) : at
      } else break
    }
    return lineCounter.linePos(at).line
  }
  const check: Parsed['check'] = (look) => {
    const faults: Line[] = []
    let count = 0
    look((path, message) => {
      count += 1
      // To find the line of each of many would take minutes.
      if (count <= mostFaults) faults.push({ line: lineOf(path), message: `${spell(path)} ${message}` })
    })
    faults.sort((one, other) => one.line - other.line)
    if (count > 0) throw invalid(source, faults, count)
  }
  const content = contentOf(document, source, lineCounter)
  const { data: declaration = {}, error } = declarationSchema.safeParse(content)
  check((fault) => {
    for (const issue of error?.issues ?? []) for (const { path, message } of faultsOf(issue)) fault(path, message)
  })
  return { declaration, content, check }
}

/** zod reports all unknown fields of an object as one issue. Each becomes a fault. */
function faultsOf({ path, message, ...issue }: z.core.$ZodIssue): { path: PropertyKey[]; message: string }[] {
  if (issue.code !== 'unrecognized_keys') return [{ path, message }]
  const unknown = path.length === 0 ? 'is an unknown section' : 'is an unknown field'
  return issue.keys.map((key) => ({ path: [...path, key], message: unknown }))
}

function contentOf(document: Document, source: string, lineCounter: LineCounter): unknown {
  try {
    return document.toJS()
  } catch (error) {
    // Nested aliases, or an alias without an anchor.
    throw invalid(source, [{ line: lineCounter.linePos(0).line, message: messageOf(error) }], 1)
  }
}

/** `apps[0].name`. */
function spell(path: Path): string {
  const spelled = path.map((segment) => (typeof segment === 'number' ? `[${segment}]` : `.${String(segment)}`)).join('')
  return spelled === '' ? 'the file' : spelled.slice(1)
}

/** A failure with the first of `count` faults. */
function invalid(source: string, faults: readonly Line[], count: number): Failure {
  const shown = faults.slice(0, mostFaults).map(({ line, message }) => `${source}:${line}: ${message}`)
  if (count > shown.length) shown.push(`and ${count - shown.length} more`)
  return new Failure('invalid', `${source} has ${count === 1 ? 'an error' : `${count} errors`}; nothing was changed`, {
    code: 'invalid_declaration',
    hint: shown.join('\n'),
  })
}
