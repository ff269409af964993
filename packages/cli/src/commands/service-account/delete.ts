import { positional } from '../../command-line/options.ts'
import { getServiceAccount } from '../../nouns/service-account-ref.ts'
import { record } from '../../output/output.ts'
import { confirmName } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'

export const deleteServiceAccount = command({
  path: 'service-account delete',
  options: { account: positional('ACCOUNT', 'Name or id of the service account') },
  summary: 'Delete a service account',
  description: 'Its token stops working at once. Confirm with the name, even if you give the id.',
  examples: [
    'service-account delete importer --confirm importer',
    'service-account delete 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --confirm importer',
    'service-account delete importer --dry-run',
  ],
  confirms: 'name',
  async run(tools, { account }) {
    const { id, name, service } = await getServiceAccount(tools.api, account)
    await confirmName(tools, name, `delete the service account ${name}`)
    await tools.api.DELETE('/api/v1/admin/service-accounts/{serviceAccountId}', { params: { path: { serviceAccountId: id } } })
    return record({ id, name, service }, 'deleted')
  },
})
