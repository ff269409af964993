import { bodyOf } from '../../api/api-client.ts'
import { parseExpiry } from '../../command-line/duration.ts'
import { positional, requiredText, text, texts } from '../../command-line/options.ts'
import { type Scope, scopes } from '../../nouns/service-account-ref.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const createServiceAccount = command({
  path: 'service-account create',
  options: {
    name: positional('NAME', 'What it is for'),
    service: requiredText('SERVICE', 'Service whose permissions it may register', { completes: 'services' }),
    scope: texts('SCOPE', `What it may do: ${scopes.join(', ')}. Default: the first`, { completes: scopes }),
    app: texts('CODE', 'Apps that its scopes apply to; required with every scope but the first', { completes: 'apps' }),
    expires: text('TIME', 'When its token ends: 2027-01-31, 2027-01-31T18:00:00Z, or 90d from now. Default: never'),
  },
  summary: 'Create a service account and print its token',
  description: 'The token is shown only once.',
  examples: [
    'service-account create "billing deploys" --service billing',
    'service-account create importer --service crm --scope users:register_or_return --app shop wiki --expires 90d',
    'service-account create "billing deploys" --service billing --json',
  ],
  async run({ api, io, now }, input) {
    const { name, service, scope, app, expires } = input
    const body = {
      name,
      service,
      // Not checked here: the service refuses an unknown scope by name.
      ...(scope === undefined ? {} : { scopes: scope as Scope[] }),
      ...(app === undefined ? {} : { app_codes: app }),
      ...(expires === undefined ? {} : { expires_at: parseExpiry(expires, now()) }),
    }
    const account = await bodyOf(api.POST('/api/v1/admin/service-accounts', { body }))
    io.note('the token is not shown again')
    return record(account, 'created')
  },
})
