import { parsePlainName } from '../../nouns/plain-name.ts'
import { roleSubject } from '../../nouns/role-permissions.ts'
import { deleteCommand } from '../../tools/subject-commands.ts'

export const deleteRole = deleteCommand({
  path: 'role delete',
  summary: 'Delete a role',
  description: 'Fails if an app uses it or users hold it. Pending invitations stay valid without it.',
  examples: ['role delete support --confirm support', 'role delete support', 'role delete support --dry-run'],
  noun: 'role',
  subject: roleSubject,
  parse: (typed) => parsePlainName(typed, 'role'),
  remove: (api, roleCode) => api.DELETE('/api/v1/admin/roles/{roleCode}', { params: { path: { roleCode } } }),
})
