import { parsePlainName } from '../../nouns/plain-name.ts'
import { providerSubject } from '../../nouns/sso-provider-settings.ts'
import { deleteCommand } from '../../tools/subject-commands.ts'

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
