import { bodyOf } from '../../api/api-client.ts'
import { choice, choiceWithStandard, type Input, positional, requiredText, text } from '../../command-line/options.ts'
import { type Result, record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = {
  code: positional('CODE', 'Code of the new role; it never changes'),
  name: requiredText('NAME', 'Name that people read'),
  scope: choiceWithStandard(['global', 'org'], 'Held by users as such, or by members of an organization, in it', 'global'),
  assignableBy: choice(
    ['system_admin', 'org_admin'],
    'Who gives an org-scoped role in an organization; system_admin unless given',
  ),
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

export async function runCreateRole(
  { api }: Tools,
  { description, assignableBy, ...input }: Input<typeof options>,
): Promise<Result> {
  const body = {
    ...input,
    ...(assignableBy === undefined ? {} : { assignable_by: assignableBy }),
    ...(description === undefined ? {} : { description }),
  }
  return record(await bodyOf(api.POST('/api/v1/admin/roles', { body })), 'created')
}
