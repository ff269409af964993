import { inTurn } from '../../api/api-client.ts'
import type { Input } from '../../command-line/options.ts'
import { permissionOptions, readPermissionsOf } from '../../nouns/role-permissions.ts'
import { type Result, record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

export const forbidRole = command({
  path: 'role forbid',
  summary: 'Remove permissions from a role',
  description: 'Tokens carry them until their next refresh. Permissions that the role does not have change nothing.',
  examples: [
    'role forbid support --permission orders:refund',
    'role forbid support --permission orders:read orders:refund --json',
    'role forbid support --permission orders:refund --dry-run',
  ],
  options: permissionOptions,
  run: runForbidRole,
})

export async function runForbidRole(tools: Tools, input: Input<typeof permissionOptions>): Promise<Result> {
  const { api, path, permissions, held } = await readPermissionsOf(tools, input)
  const gone = permissions.filter((code) => held.includes(code))
  await inTurn(
    gone.map((permission) => () => {
      const params = { path: { ...path, permission } }
      return api.DELETE('/api/v1/admin/roles/{roleCode}/permissions/{permission}', { params })
    }),
  )
  const left = held.filter((code) => !gone.includes(code))
  return record({ code: path.roleCode, permissions: left }, gone.length > 0 ? 'forbidden' : 'unchanged')
}
