import { bodyOf } from '../../api/api-client.ts'
import { parsePlainName } from '../../nouns/plain-name.ts'
import { roleSubject } from '../../nouns/role-permissions.ts'
import { rowsOf } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const showRole = command({
  path: 'role show',
  options: { code: roleSubject },
  summary: 'Show a role with its permissions',
  examples: ['role show support', 'role show support --json', 'role show super_admin'],
  async run({ api }, { code }) {
    const path = { roleCode: parsePlainName(code, 'role') }
    const role = await bodyOf(api.GET('/api/v1/admin/roles/{roleCode}', { params: { path } }))
    const { items } = await bodyOf(api.GET('/api/v1/admin/roles/{roleCode}/permissions', { params: { path } }))
    const rows = rowsOf(items, [['permission', (item) => item.code], 'service'])
    return {
      kind: 'report',
      value: { ...role, permissions: items },
      parts: [{ record: { ...role } }, ...(items.length > 0 ? ['', rows] : [])],
    }
  },
})
