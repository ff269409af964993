import { positional } from '../../command-line/options.ts'
import { getOrganization, organizationRefSyntax } from '../../nouns/organization-ref.ts'
import { record } from '../../output/output.ts'
import { confirmName } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'

export const deleteOrganization = command({
  path: 'org delete',
  options: { org: positional('ORG', `Organization: ${organizationRefSyntax}`) },
  summary: 'Delete an organization without members',
  description: 'Also deletes its open invitations. Exits with 5 if it has members or an app uses it. Confirm with the slug.',
  examples: ['org delete acme --confirm acme', 'org delete acme', 'org delete acme --dry-run'],
  confirms: 'name',
  async run(tools, { org }) {
    const { api } = tools
    const { id, slug, name } = await getOrganization(api, org)
    await confirmName(tools, slug, `delete the organization ${slug}`)
    await api.DELETE('/api/v1/admin/organizations/{organizationId}', { params: { path: { organizationId: id } } })
    return record({ id, slug, name }, 'deleted')
  },
})
