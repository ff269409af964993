import { count, type Input, text } from '../../command-line/options.ts'
import { permissionPages } from '../../nouns/read-permissions.ts'
import { list, type Result } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = {
  service: text('SERVICE', 'Only permissions of this service'),
  limit: count('N', 'At most so many; all unless given'),
}

export const listPermissions = command({
  path: 'permission list',
  summary: 'List permissions, newest first',
  examples: ['permission list', 'permission list --service orders', 'permission list --service orders --json'],
  options,
  run: runListPermissions,
})

export async function runListPermissions({ api }: Tools, { service, limit }: Input<typeof options>): Promise<Result> {
  return list(permissionPages(api, service, limit), ['code', 'name', 'service'], 'no permissions')
}
