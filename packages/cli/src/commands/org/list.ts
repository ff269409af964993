import { bodyOf, pages } from '../../api/api-client.ts'
import { count, type Input, text } from '../../command-line/options.ts'
import { list, type Result } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = {
  q: text('TEXT', 'Only organizations whose slug or name holds this'),
  limit: count('N', 'At most so many; all unless given'),
}

export const listOrganizations = command({
  path: 'org list',
  summary: 'List organizations, newest first',
  examples: ['org list', 'org list --q acme', 'org list --json'],
  options,
  run: runListOrganizations,
})

export async function runListOrganizations({ api }: Tools, { limit, ...query }: Input<typeof options>): Promise<Result> {
  const all = pages((page) => bodyOf(api.GET('/api/v1/admin/organizations', { params: { query: { ...query, ...page } } })), limit)
  return list(all, ['slug', 'name', 'created_at', 'id'], 'no organizations')
}
