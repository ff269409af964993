import { bodyOf, pages } from '../../api/api-client.ts'
import { choice, count, type Input, text } from '../../command-line/options.ts'
import { list, type Result } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = {
  status: choice(['active', 'inactive'], 'Only apps of this status'),
  q: text('TEXT', 'Only apps whose code or name holds this'),
  limit: count('N', 'At most so many; all unless given'),
}

export const listApps = command({
  path: 'app list',
  summary: 'List apps, newest first',
  examples: ['app list', 'app list --status active --q shop', 'app list --json'],
  options,
  run: runListApps,
})

export async function runListApps({ api }: Tools, { limit, ...query }: Input<typeof options>): Promise<Result> {
  const all = pages((page) => bodyOf(api.GET('/api/v1/admin/apps', { params: { query: { ...query, ...page } } })), limit)
  return list(
    all,
    [
      'code',
      'name',
      'status',
      ['pool', (app) => app.registration_namespace],
      ['auto_grant', (app) => app.auto_grant_on_signup],
      'id',
    ],
    'no apps',
  )
}
