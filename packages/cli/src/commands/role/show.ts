import { bodyOf } from '../../api/api-client.ts'
import type { Input } from '../../command-line/options.ts'
import { parsePlainName } from '../../nouns/plain-name.ts'
import { roleSubject } from '../../nouns/role-permissions.ts'
import { type Result, rowsOf } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = { code: roleSubject }

export const showRole = command({
  path: 'role show',
  summary: 'Show a role with its permissions',
  examples: ['role show support', 'role show support --json', 'role show super_admin'],
  options,
  run: runShowRole,
})

export async function runShowRole({ api }: Tools, { code }: Input<typeof options>): Promise<Result> {
  const path = { roleCode: parsePlainName(code, 'role') }
  const role = await bodyOf(api.GET('/api/v1/admin/roles/{roleCode}', { params: { path } }))
  const { items } = await bodyOf(api.GET('/api/v1/admin/roles/{roleCode}/permissions', { params: { path } }))
  const rows = rowsOf(items, [['permission', (item) => item.code], 'service'])
  return {
    kind: 'report',
    value: { ...role, permissions: items },
    parts: [{ record: { ...role } }, ...(items.length > 0 ? ['', rows] : [])],
  }
}
