import { bodyOf } from '../../api/api-client.ts'
import { usageFailure } from '../../command-line/exit-codes.ts'
import { text } from '../../command-line/options.ts'
import { parsePlainName } from '../../nouns/plain-name.ts'
import { providerSettings, providerSubject, readClientSecret, settingsBody } from '../../nouns/sso-provider-settings.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const updateSsoProvider = command({
  path: 'sso-provider update',
  options: {
    code: providerSubject,
    clientId: text('ID', 'Id of this service at the provider'),
    ...providerSettings,
  },
  summary: 'Change a provider of third-party login',
  description:
    'Settings that are not given stay unchanged. A list is replaced as a whole; an empty value clears it. ' +
    'Users cannot log in with a disabled provider; sessions continue.',
  examples: [
    'sso-provider update acme --no-enabled',
    'sso-provider update acme --app shop wiki --trust-domain "" --dry-run',
    'sso-provider update acme --client-secret-stdin < secret.txt',
  ],
  async run(tools, input) {
    const { code, clientId, clientSecretStdin, ...settings } = input
    const path = { providerCode: parsePlainName(code, 'provider') }
    const body = {
      ...settingsBody(settings),
      ...(clientId === undefined ? {} : { client_id: clientId }),
      ...(clientSecretStdin ? { client_secret: await readClientSecret(tools) } : {}),
    }
    if (Object.keys(body).length === 0)
      throw usageFailure('no setting was given', 'authctl sso-provider update --help lists them')
    return record(
      await bodyOf(tools.api.PATCH('/api/v1/admin/sso-providers/{providerCode}', { params: { path }, body })),
      'updated',
    )
  },
})
