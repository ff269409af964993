import { bodyOf, pages } from '../../api/api-client.ts'
import { count, type Input } from '../../command-line/options.ts'
import { list, type Result } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = { limit: count('N', 'At most so many; all unless given') }

export const listSsoProviders = command({
  path: 'sso-provider list',
  summary: 'List providers of third-party login, newest first',
  examples: ['sso-provider list', 'sso-provider list --json', 'sso-provider list --limit 20'],
  options,
  run: runListSsoProviders,
})

export async function runListSsoProviders({ api }: Tools, { limit }: Input<typeof options>): Promise<Result> {
  const all = pages((query) => bodyOf(api.GET('/api/v1/admin/sso-providers', { params: { query } })), limit)
  return list(all, ['code', 'issuer', 'client_id', 'enabled', 'app_codes', 'trusted_email_domains'], 'no providers')
}
