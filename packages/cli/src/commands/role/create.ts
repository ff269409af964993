import { bodyOf } from '../../api/api-client.ts'
import { choice, choiceWithStandard, positional, requiredText, text } from '../../command-line/options.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const createRole = command({
  path: 'role create',
  options: {
    code: positional('CODE', 'Code of the new role. It cannot be changed later'),
    name: requiredText('NAME', 'Display name'),
    scope: choiceWithStandard(['global', 'org'], 'Whether users hold it everywhere, or members within an organization', 'global'),
    assignableBy: choice(['system_admin', 'org_admin'], 'Who may assign an org-scoped role. Default: system_admin'),
    description: text('TEXT', 'What the role is for'),
  },
  summary: 'Create a role',
  examples: [
    'role create support --name Support',
    'role create billing --name Billing --scope org --description "Sees the invoices"',
    'role create support --name Support --dry-run',
  ],
  async run({ api }, { description, assignableBy, ...input }) {
    const body = {
      ...input,
      ...(assignableBy === undefined ? {} : { assignable_by: assignableBy }),
      ...(description === undefined ? {} : { description }),
    }
    return record(await bodyOf(api.POST('/api/v1/admin/roles', { body })), 'created')
  },
})
