import { bodyOf } from '../../api/api-client.ts'
import { choice, choiceWithStandard, type Input, positional, requiredText, text } from '../../command-line/options.ts'
import { type Result, record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = {
  code: positional('CODE', 'Code of the new role. It cannot be changed later'),
  name: requiredText('NAME', 'Display name'),
  scope: choiceWithStandard(['global', 'org'], 'Whether users hold it everywhere, or members within an organization', 'global'),
  assignableBy: choice(['system_admin', 'org_admin'], 'Who may assign an org-scoped role. Default: system_admin'),
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
