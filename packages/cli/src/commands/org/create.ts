import { bodyOf } from '../../api/api-client.ts'
import { optionalPositional, requiredText } from '../../command-line/options.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const createOrganization = command({
  path: 'org create',
  options: {
    slug: optionalPositional('SLUG', 'Its name in tokens and addresses, in kebab-case. Default: made from the name'),
    name: requiredText('NAME', 'Display name'),
  },
  summary: 'Create an organization',
  examples: ['org create acme --name "Acme Ltd"', 'org create --name "Acme Ltd" --json', 'org create acme --name Acme --dry-run'],
  async run({ api }, { slug, name }) {
    const body = { name, ...(slug === undefined ? {} : { slug }) }
    return record(await bodyOf(api.POST('/api/v1/admin/organizations', { body })), 'created')
  },
})
