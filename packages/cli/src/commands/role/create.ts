import { bodyOf } from '../../api/api-client.ts'
import { choiceWithStandard, type Input, positional, requiredText, text } from '../../command-line/options.ts'
import { type Result, record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = {
  code: positional('CODE', 'Code of the new role; it never changes'),
  name: requiredText('NAME', 'Name that people read'),
  scope: choiceWithStandard(['global', 'org'], 'Held by users as such, or by members of an organization, in it', 'global'),
  description: text('TEXT', 'What the role is for'),
}

export const createRole = command({
  path: 'role create',
  summary: 'Create a role',
  examples: [
    'role create support --name Support',
    'role create billing --name Billing --scope org --description "Sees the invoices"',
    'role create support --name Support --dry-run',
  ],
  options,
  run: runCreateRole,
})

export async function runCreateRole({ api }: Tools, { description, ...input }: Input<typeof options>): Promise<Result> {
  const body = { ...input, ...(description === undefined ? {} : { description }) }
  return record(await bodyOf(api.POST('/api/v1/admin/roles', { body })), 'created')
}
