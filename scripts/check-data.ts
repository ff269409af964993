// Checks the syntax trees of the code that accesses the database, for `npm run check`. Prints any faults, and then exits with 1.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const source = join(dirname(dirname(fileURLToPath(import.meta.url))), 'packages/server/src')
const openers = ['transaction', 'rehearsal']
/** These methods take a handle. Without one they use the handle of the model, and no model has one. */
const boundQueries = ['$query', '$relatedQuery', 'relatedQuery']

const migrations = globSync(join(source, 'db/migrations/*.ts')).map((file) => readFileSync(file, 'utf8'))
const tables = migrations.flatMap((text) => Array.from(text.matchAll(/createTable\('(\w+)'/g), ([, name = '']) => name))
const modelled = globSync(join(source, 'models/*.ts')).flatMap((file) =>
  Array.from(readFileSync(file, 'utf8').matchAll(/static override tableName = '(\w+)'/g), ([, name = '']) => name),
)
/** A table's name in a place where SQL has one. */
const namedInSql = new RegExp(`\\b(?:from|join|into|update)\\s+(?:${tables.join('|')})\\b`, 'i')
const namedAlone = new RegExp(`^(?:${tables.join('|')})(?: as \\w+)?$`)

const faults: string[] = []
const outsideModels = new Set<string>()

for (const file of globSync('**/*.ts', { cwd: source }).sort()) {
  if (file.endsWith('.test.ts')) continue
  const tree = ts.createSourceFile(file, readFileSync(join(source, file), 'utf8'), ts.ScriptTarget.Latest, true)
  const isModelOrDb = /^(?:models|db)\//.test(file)
  walk(tree, (node) => {
    if (!isModelOrDb && speaksToTables(node)) outsideModels.add(file)
    const fault = leaksHandle(node) ?? lacksHandle(node)
    if (fault) faults.push(`${file}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}  ${fault}`)
  })
}

for (const table of tables) {
  const models = modelled.filter((name) => name === table).length
  if (models !== 1) faults.push(`${table} has ${models} models: a table must have one`)
}
for (const file of outsideModels) faults.push(`${file}  names a table or imports knex: make the query a static of a model`)

for (const fault of faults) console.error(fault)
if (faults.length > 0) process.exitCode = 1

/** Whether the node imports knex, passes the name of a table to a function, or has one in SQL text. */
function speaksToTables(node: ts.Node): boolean {
  if (ts.isImportDeclaration(node))
    return /^knex$|\/db\/(?:statement|bulk)[.]ts$/.test((node.moduleSpecifier as ts.StringLiteral).text)
  if (ts.isCallExpression(node)) {
    const callee = ts.isPropertyAccessExpression(node.expression) ? node.expression.name.text : node.expression.getText()
    if (callee === 'db' || callee === 'rowsOf') return true
    const [first] = node.arguments
    return (
      /^(?:\w*[jJ]oin|from|into)$/.test(callee) && first !== undefined && ts.isStringLiteral(first) && namedAlone.test(first.text)
    )
  }
  return (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) && namedInSql.test(node.getText())
}

/** The `deps` of a transaction must have the same name as the outer one, which is then out of reach. */
function leaksHandle(node: ts.Node): string | undefined {
  if (!ts.isCallExpression(node) || !openers.includes(node.expression.getText())) return undefined
  const [outer, run] = node.arguments
  if (!run || !(ts.isArrowFunction(run) || ts.isFunctionExpression(run))) return undefined
  if (run.parameters[0]?.name.getText() !== outer?.getText())
    return `the parameter of the function must be called ${outer?.getText()}, or the outer handle stays in reach`
  return usesOuterDb(run) ? '`db` is the outer handle here' : undefined
}

function usesOuterDb(run: ts.ArrowFunction | ts.FunctionExpression): boolean {
  let isUsed = false
  let isOwn = false
  walk(run.body, (node) => {
    if (!ts.isIdentifier(node) || node.text !== 'db') return
    if (ts.isBindingElement(node.parent) || ts.isVariableDeclaration(node.parent)) isOwn ||= node.parent.name === node
    else if (!(ts.isPropertyAccessExpression(node.parent) && node.parent.name === node) && !ts.isPropertyAssignment(node.parent))
      isUsed = true
  })
  return isUsed && !isOwn
}

function lacksHandle(node: ts.Node): string | undefined {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined
  const { text } = node.expression.name
  const takes = text === 'relatedQuery' ? 2 : text === '$relatedQuery' ? 2 : 1
  return boundQueries.includes(text) && node.arguments.length < takes ? `${text} needs the handle that it runs on` : undefined
}

function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node)
  ts.forEachChild(node, (child) => walk(child, visit))
}
