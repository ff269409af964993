import { bodyOf } from '../api/api-client.ts'
import { usageFailure } from '../command-line/exit-codes.ts'
import { flag, type Input, type Options, positional, requiredText, text, texts, toggle } from '../command-line/options.ts'
import { parsePlainName } from '../nouns/plain-name.ts'
import { record } from '../output/render.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'
import { listCommand } from '../tools/list-command.ts'
import { deleteCommand, showCommand } from '../tools/subject-commands.ts'

const providerSubject = positional('CODE', 'Code of the provider', { completes: 'providers' })

/** The settings that `sso-provider create` and `sso-provider update` share. */
const providerSettings = {
  issuer: text('URL', 'Issuer, which serves /.well-known/openid-configuration. Not needed for google'),
  scope: texts('SCOPE', 'Scopes to request. Default: openid, email and profile'),
  app: texts('CODE', 'Apps that users may sign in to with it; * is every app. Default: none', { completes: 'apps' }),
  trustDomain: texts(
    'DOMAIN',
    'Domains whose e-mails count as verified if it has verified them; * is every domain. Default: none',
  ),
  trustTwoFactor: toggle('Take a login with it as a second factor, of users who own none here; never at admin apps'),
  enabled: toggle('Let users sign in with it'),
  clientSecretStdin: flag('Read the client secret from standard input'),
} satisfies Options

/** The body for the service, without the client secret. Holds only the settings that were given. */
function settingsBody(input: Omit<Input<typeof providerSettings>, 'clientSecretStdin'>) {
  const { issuer, scope, app, trustDomain, trustTwoFactor, enabled } = input
  return {
    ...(issuer === undefined ? {} : { issuer }),
    ...(scope === undefined ? {} : { scopes: scope }),
    ...(app === undefined ? {} : { app_codes: app }),
    ...(trustDomain === undefined ? {} : { trusted_email_domains: trustDomain }),
    ...(trustTwoFactor === undefined ? {} : { trusted_for_two_factor: trustTwoFactor }),
    ...(enabled === undefined ? {} : { enabled }),
  }
}

/** The client secret from standard input. */
async function readClientSecret({ io }: Pick<Tools, 'io'>): Promise<string> {
  const secret = (await io.readInput()).trim()
  if (secret === '') throw usageFailure('standard input does not contain a client secret')
  return secret
}

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

export const listSsoProviders = listCommand({
  path: 'sso-provider list',
  summary: 'List providers of third-party login, newest first',
  examples: ['sso-provider list', 'sso-provider list --json', 'sso-provider list --limit 20'],
  filters: {},
  read: (api, _, query) => api.GET('/api/v1/admin/sso-providers', { params: { query } }),
  columns: ['code', 'issuer', 'client_id', 'enabled', 'app_codes', 'trusted_email_domains'],
  none: 'no providers',
})

export const showSsoProvider = showCommand({
  path: 'sso-provider show',
  summary: 'Show a provider of third-party login',
  examples: ['sso-provider show google', 'sso-provider show google --json', 'sso-provider show acme -o ndjson'],
  subject: providerSubject,
  read: (api, typed) => {
    const path = { providerCode: parsePlainName(typed, 'provider') }
    return bodyOf(api.GET('/api/v1/admin/sso-providers/{providerCode}', { params: { path } }))
  },
})

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
    'Users cannot sign in with a disabled provider; sessions continue.',
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

export const deleteSsoProvider = deleteCommand({
  path: 'sso-provider delete',
  summary: 'Delete a provider of third-party login',
  description: 'Fails if users are linked with it, unless --force unlinks them. To turn it off for a while, disable it.',
  examples: ['sso-provider delete acme --confirm acme', 'sso-provider delete acme --force', 'sso-provider delete acme --dry-run'],
  noun: 'provider',
  subject: providerSubject,
  force: 'Unlink the users who are linked with it',
  parse: (typed) => parsePlainName(typed, 'provider'),
  remove: (api, providerCode, query) =>
    api.DELETE('/api/v1/admin/sso-providers/{providerCode}', { params: { path: { providerCode }, query } }),
})
