import { bodyOf } from '../../api/api-client.ts'
import type { Input } from '../../command-line/options.ts'
import { permissionOptions, readPermissionsOf } from '../../nouns/role-permissions.ts'
import { type Result, record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

export const permitRole = command({
  path: 'role permit',
  summary: 'Add permissions to a role',
  description: 'Tokens carry them from their next refresh on. Repeating it changes nothing.',
  examples: [
    'role permit support --permission orders:read',
    'role permit support --permission orders:read orders:refund --json',
    'role permit support --permission orders:read --dry-run',
  ],
  options: permissionOptions,
  run: runPermitRole,
})

export async function runPermitRole(tools: Tools, input: Input<typeof permissionOptions>): Promise<Result> {
  const { api, path, permissions, held } = await readPermissionsOf(tools, input)
  if (permissions.every((code) => held.includes(code))) return record({ code: path.roleCode, permissions: held }, 'unchanged')
  const body = { permissions }
  const { items } = await bodyOf(api.POST('/api/v1/admin/roles/{roleCode}/permissions', { params: { path }, body }))
  return record({ code: path.roleCode, permissions: items.map(({ code }) => code) }, 'permitted')
}
