// Every function that the SDK exports has an example in its comment. These and the blocks of docs compile as an app would write them.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const sdk = join(root, 'packages/sdk/src')
const { exports: sources }: { exports: Record<string, string> } = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8'))
const entries = Object.entries(sources).map(([name, file]) => ({ name: join('@gatehouse/sdk', name), file: join(sdk, file) }))

const options: ts.CompilerOptions = {
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  jsx: ts.JsxEmit.ReactJSX,
  experimentalDecorators: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  // Blocks of JavaScript have no types of parameters, and check nothing for undefined.
  strict: false,
  noEmit: true,
  types: ['node'],
}

/** The names that each entry point exports. */
const exportsOf = new Map<string, Set<string>>()

/** The functions of the entry points, each at the first that exports it, with their examples. */
function listFunctions(): { entry: string; name: string; examples: string[] }[] {
  const program = ts.createProgram(
    entries.map(({ file }) => file),
    options,
  )
  const checker = program.getTypeChecker()
  const seen = new Set<ts.Symbol>()
  return entries.flatMap(({ name: entry, file }) => {
    const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)!)!)
    exportsOf.set(entry, new Set(exported.map(({ name }) => name)))
    return exported.flatMap((each) => {
      const symbol = each.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(each) : each
      const [declaration] = symbol.declarations ?? []
      const isValue = symbol.flags & (ts.SymbolFlags.Function | ts.SymbolFlags.Variable)
      const isOfType = each.declarations?.some((at) => ts.isExportSpecifier(at) && (at.isTypeOnly || at.parent.parent.isTypeOnly))
      if (!declaration || !isValue || isOfType || seen.has(symbol)) return []
      if (checker.getTypeOfSymbolAtLocation(symbol, declaration).getCallSignatures().length === 0) return []
      seen.add(symbol)
      const examples = symbol.getJsDocTags(checker).filter(({ name }) => name === 'example')
      const text = examples.map(({ text }) => ts.displayPartsToString(text).replaceAll(/^```\w*\n?|\n?```$/g, ''))
      return [{ entry, name: each.name, examples: text }]
    })
  })
}

interface Example {
  /** The file that it is compiled as. */
  file: string
  code: string
  /** Where names that it does not explain come from, before anything else. */
  entry?: string | undefined
  /** What was written before it, on the same page. */
  before: string
}

/** How an app would explain a name that an example uses: as on the page before it, as an export of the SDK, or as something of its own. */
function explain(name: string, { entry, before }: Example): string {
  const imported = new RegExp(`^import (?:type )?\\{[^}]*\\b${name}\\b[^}]*\\} from '([^']+)'`, 'm').exec(before)?.[1]
  const places = ['@gatehouse/sdk/express', ...exportsOf.keys()].filter((place) => exportsOf.get(place)?.has(name))
  const from = entry !== undefined && exportsOf.get(entry)?.has(name) ? entry : (imported ?? places[0])
  if (from !== undefined) return `import { ${name} } from '${from}'`
  const made = new RegExp(`^(?:export )?const ${name} = (create\\w+)\\(`, 'm').exec(before)?.[1]
  if (made !== undefined && places.length === 0)
    return `declare const ${name}: ReturnType<typeof import('${sourceOf(made)}').${made}>`
  if (name === 'auth') return "declare const auth: import('@gatehouse/sdk').Auth"
  return /^[A-Z]/.test(name) ? `declare const ${name}: any; type ${name} = any` : `declare const ${name}: any`
}

function sourceOf(name: string): string {
  return [...exportsOf].find(([, names]) => names.has(name))?.[0] ?? '@gatehouse/sdk'
}

/** Compiles all examples at once, in the folder of the SDK, which has the frameworks. Returns what the compiler says. */
function compile(examples: readonly Example[], explained = new Map<string, string[]>()): string[] {
  const textOf = ({ file, code }: Example) => [...(explained.get(file) ?? []), code, 'export {}'].join('\n')
  const modules = new Map(examples.map((example) => [join(sdk, 'examples', example.file), textOf(example)]))
  const host = ts.createCompilerHost(options)
  const program = ts.createProgram([...modules.keys()], options, {
    ...host,
    fileExists: (file) => modules.has(file) || host.fileExists(file),
    readFile: (file) => modules.get(file) ?? host.readFile(file),
    getSourceFile: (file, language) =>
      modules.has(file) ? ts.createSourceFile(file, modules.get(file)!, language) : host.getSourceFile(file, language),
  })
  const faults = ts.getPreEmitDiagnostics(program).map(({ code, file, messageText, start = 0 }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, ' ')
    const line = file?.text.slice(file.text.lastIndexOf('\n', start) + 1).split('\n')[0]
    return { code, file: file?.fileName.split('/').at(-1) ?? '', text, line, start }
  })
  const unknown = faults.filter(({ code }) => code === 2304 || code === 2552 || code === 18004 || code === 2503)
  if (unknown.length > 0 && explained.size === 0) {
    for (const { file, text } of unknown) {
      const name = /'([\w$]+)'/.exec(text)![1]!
      const line = explain(name, examples.find((example) => example.file === file)!)
      explained.set(file, [...new Set([...(explained.get(file) ?? []), line])])
    }
    return compile(examples, explained)
  }
  // Frameworks that only an app has, and files that the example names.
  const isElsewhere = ({ code, text }: (typeof faults)[number]) => code === 2307 && !text.includes("'@gatehouse/sdk")
  return faults.filter((fault) => !isElsewhere(fault)).map(({ file, text, line }) => `${file}: ${text}: ${line}`)
}

const functions = listFunctions()

test('every function that the SDK exports has an example that compiles', () => {
  expect(functions.length).toBeGreaterThan(35)
  expect(functions.filter(({ examples }) => examples.length === 0).map(({ entry, name }) => `${entry} ${name}`)).toEqual([])
  const examples = functions.flatMap(({ entry, name, examples }) =>
    examples.map((code, index) => ({
      file: `example-${entry.split('/').slice(2).join('-')}-${name}-${index}.${entry.endsWith('react') ? 'tsx' : 'mts'}`,
      ...{ code, entry, before: '' },
    })),
  )
  expect(compile(examples)).toEqual([])
})

test('every block of TypeScript and JavaScript in docs compiles with the SDK or says why it does not', () => {
  const examples = globSync('docs/**/*.md', { cwd: root }).flatMap((page) => {
    const blocks = [
      ...readFileSync(join(root, page), 'utf8').matchAll(/(?:<!-- notest: (.+?) -->\n)?^( *)```(ts|tsx|js)\n([\s\S]*?)^\2```$/gm),
    ]
    return blocks.flatMap(([, notest, , language, code = ''], index) =>
      notest !== undefined
        ? []
        : // A block may show several files, each below its name.
          code.split(/^\/\/ [\w./-]+\.tsx?$/m).map((file, part) => ({
            file: `${page.replaceAll(/\W/g, '-')}-${index}-${part}.${language === 'tsx' || /<\/|\/>/.test(file) ? 'tsx' : 'mts'}`,
            code: file,
            before: blocks
              .slice(0, index)
              .map(([, , , , text]) => text)
              .join('\n'),
          })),
    )
  })
  expect(examples.length).toBeGreaterThan(40)
  expect(compile(examples)).toEqual([])
})
