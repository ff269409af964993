import { listCommand } from '../../tools/list-command.ts'

export const listSsoProviders = listCommand({
  path: 'sso-provider list',
  summary: 'List providers of third-party login, newest first',
  examples: ['sso-provider list', 'sso-provider list --json', 'sso-provider list --limit 20'],
  filters: {},
  read: (api, _, query) => api.GET('/api/v1/admin/sso-providers', { params: { query } }),
  columns: ['code', 'issuer', 'client_id', 'enabled', 'app_codes', 'trusted_email_domains'],
  none: 'no providers',
})
