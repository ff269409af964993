// Every function that the SDK exports has an example in its comment, and each example compiles as an app would write it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const sdk = join(root, 'packages/sdk/src')
const { exports: sources }: { exports: Record<string, string> } = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8'))
const entries = Object.entries(sources).map(([name, file]) => ({ name: join('@gatehouse/sdk', name), file: join(sdk, file) }))

const options: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  jsx: ts.JsxEmit.ReactJSX,
  experimentalDecorators: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  strict: true,
  noEmit: true,
  types: ['node'],
}

/** What an example may use without saying where it comes from. */
const given: Record<string, string> = {
  ...Object.fromEntries(
    ['token', 'secret', 'good', 'email', 'password', 'rawBody'].map((name) => [name, `declare const ${name}: string`]),
  ),
  headers: "declare const headers: import('node:http').IncomingHttpHeaders",
  response: "declare const response: import('node:http').ServerResponse",
  amount: 'declare const amount: number',
  principal: "declare const principal: import('@gatehouse/sdk').Principal",
  element: 'declare const element: Element',
  createServer: "import { createServer } from 'node:http'",
  createHash: "import { createHash } from 'node:crypto'",
  createBrowserAuth: "import { createBrowserAuth } from '@gatehouse/sdk/browser'",
  createRoot: 'declare const createRoot: (element: Element) => { render(node: unknown): void }',
  Orders: 'declare const Orders: () => null',
  createAuth: "import { createAuth } from '@gatehouse/sdk'",
  LoadUser: "declare const LoadUser: import('@nestjs/common').PipeTransform",
}
const auth = "declare const auth: import('@gatehouse/sdk').Auth"
const givenAt: Record<string, Record<string, string>> = {
  '@gatehouse/sdk/browser': { auth: "declare const auth: import('@gatehouse/sdk/browser').BrowserAuth" },
  '@gatehouse/sdk/express': { app: "import express from 'express'; const app = express()" },
  '@gatehouse/sdk/fastify': { app: "import fastify from 'fastify'; const app = fastify()" },
  '@gatehouse/sdk/hono': { app: "import { Hono } from 'hono'; const app = new Hono()" },
  '@gatehouse/sdk/koa': { router: "import Router from '@koa/router'; const router = new Router()" },
  '@gatehouse/sdk/web': { app: "import express from 'express'; const app = express()" },
  '@gatehouse/sdk/nest': { app: "declare const app: import('@nestjs/common').INestApplication & { getHttpAdapter(): any }" },
}

/** The functions of the entry points, each at the first that exports it, with their examples. */
function listFunctions(): { entry: string; name: string; exported: string[]; examples: string[] }[] {
  const program = ts.createProgram(
    entries.map(({ file }) => file),
    options,
  )
  const checker = program.getTypeChecker()
  const seen = new Set<ts.Symbol>()
  return entries.flatMap(({ name: entry, file }) => {
    const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)!)!)
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
      return [{ entry, name: each.name, exported: exported.map(({ name }) => name), examples: text }]
    })
  })
}

/** The example as a module: with the imports and the values that it leaves out. */
function moduleOf(entry: string, exported: readonly string[], example: string): string {
  const isUsed = (name: string) => new RegExp(`(?<![.'\\w])${name}(?![\\w'])`).test(example)
  const isMade = (name: string) =>
    new RegExp(`^(import .*\\b${name}\\b|(export )?(const|let|function) (\\{[^=]*\\b)?${name}\\b)`, 'm').test(example)
  const isMissing = (name: string) => isUsed(name) && !isMade(name)
  const fromEntry = exported.filter((name) => isMissing(name) && given[name] === undefined)
  const values = Object.entries({ ...given, auth, ...givenAt[entry] }).filter(([name]) => isMissing(name))
  const imports = fromEntry.length === 0 ? [] : [`import { ${fromEntry.join(', ')} } from '${entry}'`]
  return [...imports, ...values.map(([, line]) => line), example, 'export {}'].join('\n')
}

test('every function that the SDK exports has an example, which compiles', () => {
  const functions = listFunctions()
  expect(functions.length).toBeGreaterThan(35)
  expect(functions.filter(({ examples }) => examples.length === 0).map(({ entry, name }) => `${entry} ${name}`)).toEqual([])
  const modules = new Map(
    functions.flatMap(({ entry, name, exported, examples }) =>
      examples.map((example, index) => [
        join(
          sdk,
          `${entry.replaceAll(/\W/g, '-')}-${name}-${index}.mts${/react/.test(entry) ? 'x' : ''}`.replace('.mtsx', '.tsx'),
        ),
        moduleOf(entry, exported, example),
      ]),
    ),
  )
  const host = ts.createCompilerHost(options)
  const program = ts.createProgram([...modules.keys()], options, {
    ...host,
    fileExists: (file) => modules.has(file) || host.fileExists(file),
    readFile: (file) => modules.get(file) ?? host.readFile(file),
    getSourceFile: (file, language) =>
      modules.has(file) ? ts.createSourceFile(file, modules.get(file)!, language) : host.getSourceFile(file, language),
  })
  const faults = ts.getPreEmitDiagnostics(program).map(({ file, messageText, start }) => {
    const line = file && start !== undefined ? file.text.slice(file.text.lastIndexOf('\n', start) + 1).split('\n')[0] : ''
    return `${file?.fileName.split('/').at(-1)}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}: ${line}`
  })
  expect(faults).toEqual([])
})
