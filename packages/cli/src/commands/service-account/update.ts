import { bodyOf } from '../../api/api-client.ts'
import { parseExpiry } from '../../command-line/duration.ts'
import { usageFailure } from '../../command-line/exit-codes.ts'
import { positional, text, texts } from '../../command-line/options.ts'
import { getServiceAccount, type Scope, scopes } from '../../nouns/service-account-ref.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const updateServiceAccount = command({
  path: 'service-account update',
  options: {
    account: positional('ACCOUNT', 'Name or id of the service account'),
    name: text('NAME', 'New name'),
    scope: texts('SCOPE', `All that it may do: ${scopes.join(', ')}`, { completes: scopes }),
    app: texts('CODE', 'All apps that its scopes apply to', { completes: 'apps' }),
    expires: text('TIME', 'When its token ends: 2027-01-31, 2027-01-31T18:00:00Z, 90d from now, or never'),
  },
  summary: 'Change the name, scopes, apps or expiry of a service account',
  description:
    'Its token stays the same. Values that are not given stay unchanged; a list is replaced as a whole. If the account loses ' +
    'tokens:issue or an app, or ends sooner, its machine tokens stop working at once. Permissions: see permit and forbid.',
  examples: [
    'service-account update "billing deploys" --expires 90d',
    'service-account update importer --scope users:register_or_return limits:exempt --app shop wiki',
    'service-account update importer --name "crm import" --dry-run',
  ],
  async run({ api, now }, { account, name, scope, app, expires }) {
    const body = {
      ...(name === undefined ? {} : { name }),
      // Not checked here: the service refuses an unknown scope by name.
      ...(scope === undefined ? {} : { scopes: scope as Scope[] }),
      ...(app === undefined ? {} : { app_codes: app }),
      ...(expires === undefined ? {} : { expires_at: parseExpiry(expires, now()) }),
    }
    if (Object.keys(body).length === 0)
      throw usageFailure('--name, --scope, --app or --expires is required', 'nothing was changed')
    const before = await getServiceAccount(api, account)
    const path = { serviceAccountId: before.id }
    const after = await bodyOf(api.PATCH('/api/v1/admin/service-accounts/{serviceAccountId}', { params: { path }, body }))
    return record(after, before.updated_at === after.updated_at ? 'unchanged' : 'updated')
  },
})
