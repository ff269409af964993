// The service's answers and the page about errors contain commands to copy. The service does not import authctl, so this file checks
// their spelling.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { flagName, globalOptions } from '../../packages/cli/src/command-line/options.ts'
import { commands } from '../../packages/cli/src/commands/index.ts'
import { errorAdvice } from '../../packages/server/src/error-advice.ts'

const folder = join(dirname(fileURLToPath(import.meta.url)), '../../packages/server/src/flows/support')
const source = readdirSync(folder)
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => readFileSync(join(folder, file), 'utf8'))
  .join('\n')

/** Each call like `command('org member', '--org', id, …)`: its path, its flags, and how many words come before the first flag. */
const named = [...source.matchAll(/\bcommand\('([a-z -]+)'((?:[^()]|\([^()]*\))*)\)/g)].map(([, path = '', rest = '']) => {
  const words = rest.split(/,(?![^(]*\))/).filter((word) => word.trim() !== '')
  const firstFlag = words.findIndex((word) => word.includes("'--"))
  return {
    path,
    flags: [...rest.matchAll(/'--([a-z-]+)'/g)].map(([, flag]) => flag),
    positionals: firstFlag === -1 ? words.length : firstFlag,
  }
})

test('the advice of the service contains commands of authctl', () => {
  expect(named.map(({ path }) => path)).toEqual(expect.arrayContaining(['grant add', 'user unlock', 'pool tag']))
})

test.each(named)('authctl $path exists with the flags and words that the service advises', ({ path, flags, positionals }) => {
  const spec = commands.find((each) => each.path === path)
  expect(spec).toBeDefined()
  const options = Object.entries(spec!.options)
  const known = [...Object.keys(globalOptions), ...Object.keys(spec!.options)].map(flagName)
  // The prefix `no-` turns a toggle off.
  expect(flags.filter((flag) => !known.includes(flag!.replace(/^no-/, '')))).toEqual([])
  expect(positionals).toBeLessThanOrEqual(options.filter(([, { kind }]) => kind === 'positional').length)
  // The command must not prompt for anything else.
  const missing = options.filter(([key, option]) => option.kind === 'text' && option.required && !flags.includes(flagName(key)))
  expect(missing).toEqual([])
  const words = options.filter(([, option]) => option.kind === 'positional' && option.required)
  expect(words.length).toBeLessThanOrEqual(positionals)
})

const advice = Object.entries(errorAdvice)

test.each(advice)('the page about errors gives the cause and the cure of %s in one sentence each', (_, { cause, cure }) => {
  for (const text of [cause, cure]) {
    expect(text).toMatch(/^[A-Z`].*[^.]\.$/)
    expect(text.length).toBeLessThan(150)
  }
})

const advised = advice.flatMap(([, { cure }]) => [...cure.matchAll(/`authctl ([^`]+)`/g)].map(([, line = '']) => line))

test.each(advised)('authctl %s, from the page about errors, exists with its flags and words', (line) => {
  const spec = commands.filter(({ path }) => `${line} `.startsWith(`${path} `)).sort((a, b) => b.path.length - a.path.length)[0]
  expect(spec).toBeDefined()
  const rest = line.slice(spec!.path.length)
  const options = Object.entries(spec!.options)
  const known = [...Object.keys(globalOptions), ...Object.keys(spec!.options)].map(flagName)
  const flags = [...rest.matchAll(/ --([a-z-]+)/g)].map(([, flag = '']) => flag)
  expect(flags.filter((flag) => !known.includes(flag.replace(/^no-/, '')))).toEqual([])
  const words = (rest.split(' --')[0] ?? '').split(' ').filter(Boolean)
  expect(words.length).toBeLessThanOrEqual(options.filter(([, { kind }]) => kind === 'positional').length)
})
