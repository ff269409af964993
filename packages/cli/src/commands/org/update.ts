import { bodyOf } from '../../api/api-client.ts'
import { usageFailure } from '../../command-line/exit-codes.ts'
import { positional, text } from '../../command-line/options.ts'
import { getOrganization, organizationRefSyntax } from '../../nouns/organization-ref.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const updateOrganization = command({
  path: 'org update',
  options: {
    org: positional('ORG', `Organization: ${organizationRefSyntax}`),
    name: text('NAME', 'Display name'),
    slug: text('SLUG', 'Its name in tokens and addresses, in kebab-case'),
  },
  summary: 'Rename an organization',
  description: 'Tokens carry a new slug from their next refresh on.',
  examples: ['org update acme --name "Acme Ltd"', 'org update acme --slug acme-ltd', 'org update acme --name Acme --dry-run'],
  async run({ api }, { org, name, slug }) {
    if (name === undefined && slug === undefined) throw usageFailure('--name or --slug is required', 'nothing was changed')
    const before = await getOrganization(api, org)
    const path = { organizationId: before.id }
    const body = { ...(name === undefined ? {} : { name }), ...(slug === undefined ? {} : { slug }) }
    const after = await bodyOf(api.PATCH('/api/v1/admin/organizations/{organizationId}', { params: { path }, body }))
    return record(after, before.name === after.name && before.slug === after.slug ? 'unchanged' : 'updated')
  },
})
