import { expect, test } from 'vitest'
import { flagName, globalOptions, type Options } from '../command-line/options.ts'
import { renderReference } from '../reference.ts'
import { commands, nouns } from './index.ts'

function flagsOf(options: Options): string[] {
  return Object.entries(options).flatMap(([key, option]) => {
    const own = option.kind === 'off' ? [] : [`--${flagName(key)}`]
    return option.kind === 'off' || option.kind === 'toggle' ? [...own, `--no-${flagName(key)}`] : own
  })
}

test.each(commands.map((command) => [command.path, command] as const))(
  'the examples of %s use only flags that exist',
  (path, { examples, options }) => {
    const known = new Set([...flagsOf(options), ...flagsOf(globalOptions), '-o', '-f', '-'])
    const [own, ...others] = examples.filter((example) => example.startsWith(path))
    expect([own, ...others].length).toBeGreaterThanOrEqual(2)
    for (const example of [own!, ...others]) {
      expect(example.match(/(?<=\s)--?[a-z-]*/g)?.filter((flag) => !known.has(flag)) ?? []).toEqual([])
    }
  },
)

test('paths are unique, each noun has its sentence, and no command redefines a global flag', () => {
  const paths = commands.map(({ path }) => path)
  expect(new Set(paths).size).toBe(paths.length)
  expect(new Set(paths.filter((path) => path.includes(' ')).map((path) => path.split(' ')[0]))).toEqual(
    new Set(Object.keys(nouns)),
  )
  for (const { path, options } of commands)
    expect({ path, taken: Object.keys(options).filter((key) => key in globalOptions) }).toEqual({ path, taken: [] })
})

test('the reference lists every command', () => {
  const reference = Object.values(renderReference()).join('\n')
  for (const { path, summary } of commands) expect(reference).toContain(`## authctl ${path}\n\n${summary}.`)
})
