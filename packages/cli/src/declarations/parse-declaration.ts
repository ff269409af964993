import type { Document, LineCounter, Node } from 'yaml'
import { Failure } from '../command-line/exit-codes.ts'
import {
  builtInApp,
  builtInService,
  byName,
  type Declaration,
  type DeclaredApp,
  type DeclaredRole,
  type DeclaredService,
  type Entry,
  holderOfAll,
  nameOf,
  type Section,
  sections,
} from './declaration.ts'
import { type Fault, isObject, listOf, type Path, readEntry } from './read-field.ts'

export interface Parsed {
  declaration: Declaration
  /** Throws when `look` finds faults: all of them at once, each with its line. */
  check(look: (fault: Fault) => void): void
}

/** The content of a declaration in YAML, or in JSON; `source` is named in what is thrown. */
export async function parseDeclaration(text: string, source: string): Promise<Parsed> {
  const { parseDocument, LineCounter, isMap, isScalar, isSeq } = await import('yaml')
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false })
  const syntax = document.errors.map(({ pos, message }) => `${source}:${lineCounter.linePos(pos[0]).line}: ${message}`)
  if (syntax.length > 0) throw invalid(source, syntax)

  /** The line of what stands there, or of what it would stand in. */
  const lineOf = (path: Path): number => {
    let node: unknown = document.contents
    let at = document.contents?.range?.[0] ?? 0
    for (const segment of path) {
      if (isMap(node)) {
        const pair = node.items.find(({ key }) => (isScalar(key) ? String(key.value) : String(key)) === String(segment))
        if (!pair) break
        at = (pair.key as Node).range?.[0] ?? at
        node = pair.value
      } else if (isSeq(node)) {
        node = node.items[segment as number]
        at = (node as Node | undefined)?.range?.[0] ?? at
      } else break
    }
    return lineCounter.linePos(at).line
  }
  const check: Parsed['check'] = (look) => {
    const faults: { line: number; message: string }[] = []
    look((path, message) => faults.push({ line: lineOf(path), message: `${spell(path)} ${message}` }))
    faults.sort((one, other) => one.line - other.line)
    if (faults.length > 0)
      throw invalid(
        source,
        faults.map(({ line, message }) => `${source}:${line}: ${message}`),
      )
  }
  let declaration: Declaration = {}
  check((fault) => {
    declaration = readDeclaration(contentOf(document, source, lineCounter), fault)
  })
  return { declaration, check }
}

function contentOf(document: Document, source: string, lineCounter: LineCounter): unknown {
  try {
    return document.toJS()
  } catch (error) {
    // Aliases of aliases, or one of nothing.
    throw invalid(source, [`${source}:${lineCounter.linePos(0).line}: ${(error as Error).message}`])
  }
}

/** `apps[0].name`. */
function spell(path: Path): string {
  const spelled = path.map((segment) => (typeof segment === 'number' ? `[${segment}]` : `.${segment}`)).join('')
  return spelled === '' ? 'the file' : spelled.slice(1)
}

function readDeclaration(content: unknown, fault: Fault): Declaration {
  if (!isObject(content) || Object.keys(content).length === 0) {
    fault([], `must hold ${Object.keys(sections).join(', ')}, or one of them`)
    return {}
  }
  for (const key of Object.keys(content)) if (!Object.hasOwn(sections, key)) fault([key], 'is no section of a declaration')
  const declaration = Object.fromEntries(
    Object.entries(sections)
      .filter(([section]) => Object.hasOwn(content, section))
      // `apps:` with nothing behind it is a list that somebody has emptied.
      .map(([section, { fields }]) => {
        const read = listOf((given, path, fault) => readEntry<Entry>(fields, given, path, fault), Number.POSITIVE_INFINITY)
        return [section, read(content[section] ?? [], [section], fault)]
      }),
  ) as Declaration
  checkNames(declaration, fault)
  declaration.services?.forEach((service, index) => {
    checkService(service, ['services', index], fault)
  })
  checkOwners(declaration.services ?? [], fault)
  declaration.roles?.forEach((role, index) => {
    checkRole(role, ['roles', index], fault)
  })
  declaration.apps?.forEach((app, index) => {
    checkApp(app, ['apps', index], fault)
  })
  return declaration
}

function checkNames(declaration: Declaration, fault: Fault): void {
  for (const section of Object.keys(sections) as Section[]) {
    const known = new Set<string>()
    declaration[section]?.forEach((entry, index) => {
      const name = nameOf(entry)
      if (name !== undefined && known.has(name)) fault([section, index], `is ${name} once more`)
      known.add(name)
    })
  }
}

function checkService(service: DeclaredService, path: Path, fault: Fault): void {
  if (service.service === builtInService) fault([...path, 'service'], 'is built in: nobody registers its permissions')
  service.permissions = byName(service.permissions ?? [], ({ code }) => code)
}

/** Each code belongs to one service, and stands there once. */
function checkOwners(services: readonly DeclaredService[], fault: Fault): void {
  const owners = new Map<string, string>()
  services.forEach(({ service, permissions }, index) => {
    for (const { code } of permissions.filter((permission) => permission.code !== undefined)) {
      const owner = owners.get(code)
      if (owner !== undefined)
        fault(['services', index, 'permissions'], owner === service ? `has ${code} twice` : `has ${code}, which is of ${owner}`)
      owners.set(code, service)
    }
  })
}

function checkRole(role: DeclaredRole, path: Path, fault: Fault): void {
  role.permissions = byName(role.permissions ?? [], (code) => code)
  if (role.code === holderOfAll && role.permissions.length > 0)
    fault([...path, 'permissions'], `cannot be given: ${holderOfAll} holds every permission`)
}

function checkApp(app: DeclaredApp, path: Path, fault: Fault): void {
  if (app.code === builtInApp) fault([...path, 'code'], 'is built in; authctl app update changes its settings')
  if (app.linked_app_codes?.includes(builtInApp)) fault([...path, 'linked_app_codes'], `cannot hold ${builtInApp}`)
  if (app.default_role_code != null && app.default_organization_slug === null)
    fault([...path, 'default_role_code'], 'needs default_organization_slug')
  const names = new Set<string>()
  app.webhooks?.forEach((webhook, index) => {
    if (names.has(webhook.name)) fault([...path, 'webhooks', index, 'name'], 'is used by another webhook of this app')
    names.add(webhook.name)
  })
}

function invalid(source: string, lines: string[]): Failure {
  const faults = lines.length === 1 ? 'a fault' : `${lines.length} faults`
  return new Failure('invalid', `${source} has ${faults}; nothing was sent`, {
    code: 'invalid_declaration',
    hint: lines.join('\n'),
  })
}
