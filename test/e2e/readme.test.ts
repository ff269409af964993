// Checks that what README shows is true. `npm-start.test.ts` types its commands.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const commands = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) => block!.trim().split('\n'))

test('README shows no command but those that npm-start.test.ts types and the two that run the tests', () => {
  const tested = /^npm (start|test|run (check|dev))$|^npm run -s authctl -- |^npm run -s gatehouse -- (check|migrate|serve)$/
  expect(commands.filter((command) => !tested.test(command))).toEqual([])
})

test('the seven lines that README guards a backend with are those of examples/koa-api', () => {
  const [, lines = ''] = /```ts\n([\s\S]*?)```/.exec(readme) ?? []
  const example = readFileSync(join(root, 'examples/koa-api/server.ts'), 'utf8')
  const statements = lines.split('\n').filter((line) => /^(import|const)/.test(line) || line === 'app.use(requireAuth(auth))')
  expect(statements.length).toBe(6)
  for (const statement of statements) expect(example).toContain(statement.split(' //')[0])
})
