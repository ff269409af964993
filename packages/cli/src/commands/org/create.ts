import { bodyOf } from '../../api/api-client.ts'
import { type Input, optionalPositional, requiredText } from '../../command-line/options.ts'
import { type Result, record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = {
  slug: optionalPositional('SLUG', 'Its name in tokens and addresses, in kebab-case. Default: made from the name'),
  name: requiredText('NAME', 'Display name'),
}

export const createOrganization = command({
  path: 'org create',
  summary: 'Create an organization',
  examples: ['org create acme --name "Acme Ltd"', 'org create --name "Acme Ltd" --json', 'org create acme --name Acme --dry-run'],
  options,
  run: runCreateOrganization,
})

export async function runCreateOrganization({ api }: Tools, { slug, name }: Input<typeof options>): Promise<Result> {
  const body = { name, ...(slug === undefined ? {} : { slug }) }
  return record(await bodyOf(api.POST('/api/v1/admin/organizations', { body })), 'created')
}
