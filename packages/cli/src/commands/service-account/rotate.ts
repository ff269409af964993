import { bodyOf } from '../../api/api-client.ts'
import { positional } from '../../command-line/options.ts'
import { getServiceAccount } from '../../nouns/service-account-ref.ts'
import { record } from '../../output/output.ts'
import { confirmYes } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'

export const rotateServiceAccount = command({
  path: 'service-account rotate',
  options: { account: positional('ACCOUNT', 'Name or id of the service account') },
  summary: 'Give a service account a new token and print it',
  description: 'The old token stops working at once. The new one is shown only once.',
  examples: [
    'service-account rotate "billing deploys" --yes',
    'service-account rotate 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --yes --json',
    'service-account rotate "billing deploys" --dry-run',
  ],
  confirms: 'yes',
  async run(tools, { account }) {
    const { api, io } = tools
    await confirmYes(tools, `revoke the token of ${account} and create another`)
    const path = { serviceAccountId: (await getServiceAccount(api, account)).id }
    const rotated = await bodyOf(api.POST('/api/v1/admin/service-accounts/{serviceAccountId}/rotate', { params: { path } }))
    io.note('the token is not shown again')
    return record(rotated, 'rotated')
  },
})
