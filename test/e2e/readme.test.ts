// Checks that what README shows is true. `npm-start.test.ts` types the commands, and `quickstart-page.test.ts` runs the signed-in app.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { fiveBars } from '../../scripts/drawings/five-bars.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const readme = read('README.md')
const overview = read('docs/start/overview.md')
const commands = [...`${readme}\n${overview}`.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) => block!.trim().split('\n'))
const [firstScreen = ''] = readme.split(/^## /m)

test('README and the overview show only commands that npm-start.test.ts types', () => {
  const tested = /^npm start$|^npm run -s authctl -- |^npm run -s gatehouse -- (check|migrate|serve)$/
  expect(commands.filter((command) => !tested.test(command))).toEqual([])
})

test('every sentence of the first screen has at most 25 words', () => {
  const text = firstScreen
    .replace(/^(#|!\[).*$/gm, '')
    .replace(/```[\s\S]*?```/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  const sentences = text.split(/(?<=[.:!?])\**\s+|\n\n|\n- | · /).map((sentence) => sentence.trim().split(/\s+/))
  expect(sentences.length).toBeGreaterThan(15)
  expect(sentences.filter((words) => words.length > 25).map((words) => words.join(' '))).toEqual([])
})

test('the figures of the first screen are those measured last', () => {
  const bars = fiveBars(JSON.parse(read('docs/reference/performance.json')))
  const times = (label: string) => bars.find((bar) => bar.label === label)!.times.toFixed(1)
  expect(firstScreen).toContain(`in ${bars[0]!.figure.ours.toPrecision(2)} µs of processor time`)
  expect(firstScreen).toContain(`[${times('Tokens checked by a backend')} times as many]`)
  expect(firstScreen).toContain(`[${times('Sign-ins by password')} times as many people a second]`)

  const kills = [
    ...read('docs/operate/reliability.md').matchAll(/loses no event \| (\d+) kills, (\d+) events, [\d,]+ deliveries: 0 lost/g),
  ]
  const sum = (group: 1 | 2) => kills.reduce((total, kill) => total + Number(kill[group]), 0)
  expect(firstScreen).toContain(`After [${sum(1)} kills of the server]`)
  expect(firstScreen).toContain(`none of ${sum(2)} events was lost`)

  const contract = globSync('docs/reference/contract/*.md', { cwd: root }).map(read).join('')
  expect(firstScreen).toContain(`[${contract.match(/<a id=/g)!.length} sentences of its contract]`)
})

test('the lines with which README guards a backend are those of examples/koa-api', () => {
  const [, lines = ''] = /```ts\n([\s\S]*?)```/.exec(readme) ?? []
  const example = read('examples/koa-api/server.ts')
  const statements = lines.split('\n').filter((line) => /^(import|const)/.test(line) || line === 'app.use(requireAuth(auth))')
  expect(statements.length).toBe(6)
  for (const statement of statements) expect(example).toContain(statement.split(' //')[0])
})

test('the lines of the signed-in app are lines of the page that a browser runs', () => {
  const [, block = ''] = /```js\n([\s\S]*?)```/.exec(readme) ?? []
  const lines = block.split('\n').filter(Boolean)
  expect(lines.length).toBeGreaterThan(8)
  const page = read('docs/start/quickstarts.md')
  expect(lines.filter((line) => !page.includes(`  ${line}\n`))).toEqual([])
})

test('README links to a page in every folder of docs', () => {
  const folders = new Set(globSync('docs/*/*.md', { cwd: root }).map((page) => page.split('/').slice(0, 2).join('/')))
  const linked = `${readme}${overview.replaceAll('](../', '](docs/').replaceAll('](quickstarts', '](docs/start/quickstarts')}`
  expect([...folders].filter((folder) => !linked.includes(`](${folder}/`))).toEqual([])
})
