import { describe, expect, test } from 'vitest'
import { commands } from '../../packages/cli/src/commands/index.ts'
import { type HelpAsJson, helpSchema } from '../../packages/cli/src/help-schema.ts'
import { errorOf, machine, parsed } from './sandbox.ts'

describe('help as JSON', () => {
  const helpOf = async (words: string) => {
    const { stdout, stderr, exit } = await machine().authctlProcess(words)
    expect([stderr, exit]).toEqual(['', 0])
    return helpSchema.parse(JSON.parse(stdout))
  }
  const below = (help: HelpAsJson): HelpAsJson[] => [help, ...help.commands.flatMap(below)]

  test('help as JSON has every command with its options, in the documented shape', async () => {
    const help = await helpOf('--help --json')
    const found = new Map(below(help).map((each) => [each.path, each]))
    for (const { path, options, summary } of commands) {
      expect(found.get(path)!.description).toContain(summary)
      expect(found.get(path)!.options.length + found.get(path)!.arguments.length).toBe(Object.keys(options).length)
    }
    expect(help.exit_codes).toContainEqual({ exit: 3, meaning: 'not found' })
    expect(help.options.map(({ flag }) => flag)).toEqual(expect.arrayContaining(['--output', '--no-input', '--dry-run']))
    expect(found.get('app create')!.options.find(({ flag }) => flag === '--auto-grant')!.negation).toBe('--no-auto-grant')
    expect(found.get('app delete')!.confirmation).toBe('name')
  })

  test('every flag in help as JSON is in the help text of its command', async () => {
    const { authctl } = machine()
    for (const { path, options } of below(await helpOf('--help --json')).filter(({ commands }) => commands.length === 0)) {
      const { stdout } = await authctl(`${path} --help`)
      const flags = options.flatMap(({ flag, short = flag, negation = flag }) => [flag, short, negation])
      expect(flags.filter((flag) => !stdout.includes(flag))).toEqual([])
    }
  })

  test.each(['app --help --json', 'app create -h -o json', 'help --json user session list', '--json help app'])(
    'help as JSON works for a part: authctl %s',
    async (words) => {
      const path = words
        .replace(/ ?(--json|-o json|--help|-h|help) ?/g, ' ')
        .replace(/ +/g, ' ')
        .trim()
      expect(await helpOf(words)).toEqual(below(await helpOf('--help --json')).find((each) => each.path === path))
    },
  )

  test('help as JSON lists the common options, and fails for an unknown command', async () => {
    const { authctlProcess } = machine()
    expect(parsed(await authctlProcess('help options --json'))).toEqual((await helpOf('--help --json')).options)
    const unknown = await authctlProcess('frob --help --json')
    expect(unknown).toMatchObject({ exit: 2, stdout: '' })
    expect(errorOf(unknown).message).toBe("unknown command 'frob'")
  })
})
