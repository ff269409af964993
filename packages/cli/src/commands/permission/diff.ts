import { Failure } from '../../command-line/exit-codes.ts'
import { flag, requiredText, text } from '../../command-line/options.ts'
import { readPermissions } from '../../nouns/read-permissions.ts'
import { rowsOf } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const diffPermissions = command({
  path: 'permission diff',
  options: {
    service: text('SERVICE', 'Service that owns the permissions. Default: the one in the file', { completes: 'services' }),
    file: requiredText('FILE', 'All permissions of the service, JSON or YAML; - is standard input', { short: 'f' }),
    exitCode: flag('Exit with 10 if there are differences'),
  },
  summary: 'Show what registering a permission file would change',
  examples: [
    'permission diff --service orders -f permissions.yaml',
    'permission diff --service orders -f permissions.yaml --exit-code',
    'permission diff --service orders -f - --json < permissions.json',
  ],
  async run(tools, { exitCode, ...input }) {
    // Loaded late: the schema is slow to load, and other commands do not need it.
    const { readPermissionFile } = await import('../../declarations/permission-file.ts')
    const { service, permissions } = await readPermissionFile(tools, input)
    const before = new Map((await readPermissions(tools.api, service)).map(({ code, name }) => [code, name]))
    const after = new Map(permissions.map(({ code, name }) => [code, name]))
    const differences = [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((code): Difference[] => {
      const [old = null, fresh = null] = [before.get(code), after.get(code)]
      if (old === fresh) return []
      return [{ change: old === null ? 'create' : fresh === null ? 'prune' : 'update', code, before: old, after: fresh }]
    })
    const count = differences.length
    if (count === 0) tools.io.note('no differences')
    const failure =
      exitCode && count > 0
        ? new Failure('differences', count === 1 ? 'there is a difference' : `there are ${count} differences`, {
            code: 'differences',
            hint: 'authctl permission register makes these changes',
          })
        : undefined
    return {
      kind: 'report',
      value: { service, differences },
      parts: count === 0 ? [] : [rowsOf(differences, ['change', 'code', 'before', 'after'])],
      failure,
    }
  },
})

interface Difference {
  change: 'create' | 'update' | 'prune'
  code: string
  /** The name of the permission; null if it does not exist. */
  before: string | null
  after: string | null
}
