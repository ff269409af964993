import { bodyOf, pages } from '../../api/api-client.ts'
import { count, type Input, text } from '../../command-line/options.ts'
import { list, type Result } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = {
  service: text('SERVICE', 'Only accounts of this service'),
  limit: count('N', 'At most so many; all unless given'),
}

export const listServiceAccounts = command({
  path: 'service-account list',
  summary: 'List service accounts, newest first',
  examples: ['service-account list', 'service-account list --service billing', 'service-account list --json'],
  options,
  run: runListServiceAccounts,
})

export async function runListServiceAccounts({ api }: Tools, { limit, ...query }: Input<typeof options>): Promise<Result> {
  const all = pages(
    (page) => bodyOf(api.GET('/api/v1/admin/service-accounts', { params: { query: { ...query, ...page } } })),
    limit,
  )
  return list(
    all,
    ['name', 'service', 'scopes', ['apps', (account) => account.app_codes], 'expires_at', 'last_used_at', 'id'],
    'no service accounts',
  )
}
