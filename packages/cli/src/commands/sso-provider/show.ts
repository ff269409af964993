import { bodyOf } from '../../api/api-client.ts'
import { parsePlainName } from '../../nouns/plain-name.ts'
import { providerSubject } from '../../nouns/sso-provider-settings.ts'
import { showCommand } from '../../tools/subject-commands.ts'

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
