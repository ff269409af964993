import { command } from '../../command.ts'
import type { Tools } from '../../factory.ts'
import { type Input, positional } from '../../options.ts'
import { type Result, record } from '../../output.ts'
import { parsePlainName } from '../../plain-name.ts'
import { confirmName } from '../../prompt.ts'

const options = { code: positional('CODE', 'Code of the role') }

export const deleteRole = command({
  path: 'role delete',
  summary: 'Delete a role',
  description: 'Not while an app names it or users hold it. Pending invitations go on without it.',
  examples: ['role delete support --confirm support', 'role delete support', 'role delete support --dry-run'],
  options,
  confirms: 'name',
  run: runDeleteRole,
})

export async function runDeleteRole(tools: Tools, { code }: Input<typeof options>): Promise<Result> {
  const roleCode = parsePlainName(code, 'role')
  await confirmName(tools, code, `delete the role ${code}`)
  await tools.api.DELETE('/api/v1/admin/roles/{roleCode}', { params: { path: { roleCode } } })
  return record({ code }, 'deleted')
}
