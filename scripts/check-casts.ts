// Counts what the server asserts although the compiler cannot see it: `as X`, `as never` and `x!`. `as const` asserts nothing.
// Exits with 1 if a count is over its bound.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const most = { 'as X': 15, 'as never': 0, 'x!': 20 }
type Assertion = keyof typeof most

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const found: Record<Assertion, string[]> = { 'as X': [], 'as never': [], 'x!': [] }

for (const file of globSync('packages/server/src/**/*.ts', { cwd: root, exclude: ['**/*.test.ts'] }).sort()) {
  const tree = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true)
  visit(tree, (node) => {
    const kind = kindOf(node)
    if (kind) found[kind].push(`${file}:${tree.getLineAndCharacterOfPosition(node.getEnd()).line + 1}`)
  })
}

for (const [kind, places] of Object.entries(found)) {
  const bound = most[kind as Assertion]
  if (places.length <= bound) continue
  console.error(`${places.length} times \`${kind}\`, but at most ${bound} are allowed: ${places.join(', ')}`)
  process.exitCode = 1
}

function kindOf(node: ts.Node): Assertion | undefined {
  if (ts.isNonNullExpression(node)) return 'x!'
  if (!ts.isAssertionExpression(node) || ts.isConstTypeReference(node.type)) return undefined
  return node.type.kind === ts.SyntaxKind.NeverKeyword ? 'as never' : 'as X'
}

function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node)
  ts.forEachChild(node, (child) => visit(child, see))
}
