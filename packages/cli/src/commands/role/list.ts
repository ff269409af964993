import { bodyOf, pages } from '../../api/api-client.ts'
import { count, type Input } from '../../command-line/options.ts'
import { list, type Result } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = { limit: count('N', 'At most so many; all unless given') }

export const listRoles = command({
  path: 'role list',
  summary: 'List roles, by code',
  examples: ['role list', 'role list --json', 'role list --limit 20'],
  options,
  run: runListRoles,
})

export async function runListRoles({ api }: Tools, { limit }: Input<typeof options>): Promise<Result> {
  const all = pages((query) => bodyOf(api.GET('/api/v1/admin/roles', { params: { query } })), limit)
  return list(all, ['code', 'name', 'scope', 'built_in', 'description'], 'no roles')
}
