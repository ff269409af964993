import { bodyOf } from '../../api/api-client.ts'
import { usageFailure } from '../../command-line/exit-codes.ts'
import { positional, requiredText } from '../../command-line/options.ts'
import { providerSettings, readClientSecret, settingsBody } from '../../nouns/sso-provider-settings.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

export const createSsoProvider = command({
  path: 'sso-provider create',
  options: {
    code: positional('CODE', 'Code of the new provider. It cannot be changed later'),
    clientId: requiredText('ID', 'Id of this service at the provider'),
    ...providerSettings,
  },
  summary: 'Set up a provider of third-party login',
  description:
    'Asks for the client secret without showing it. The answer has the callback URL to register at the provider. Name the apps with --app: without it, no app can use the provider.',
  examples: [
    'sso-provider create google --client-id 1234.apps.googleusercontent.com --app shop',
    'sso-provider create acme --issuer https://id.example.com/realms/acme --client-id gatehouse --app shop wiki --trust-domain corp.com',
    'sso-provider create acme --issuer https://id.example.com --client-id gatehouse --app "*" --client-secret-stdin < secret.txt',
  ],
  async run(tools, input) {
    const { code, clientId, clientSecretStdin, ...settings } = input
    const client_secret = clientSecretStdin ? await readClientSecret(tools) : await askForClientSecret(tools)
    const body = { code, client_id: clientId, client_secret, ...settingsBody(settings) }
    return record(await bodyOf(tools.api.POST('/api/v1/admin/sso-providers', { body })), 'created')
  },
})

async function askForClientSecret({ io, prompt }: Tools): Promise<string> {
  if (!io.canAsk) throw usageFailure('--client-secret-stdin is required', 'a secret is never taken on the command line')
  return prompt.hidden('Client secret:')
}
