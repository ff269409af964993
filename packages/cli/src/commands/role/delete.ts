import { type Input, positional } from '../../command-line/options.ts'
import { parsePlainName } from '../../nouns/plain-name.ts'
import { type Result, record } from '../../output/output.ts'
import { confirmName } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

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
