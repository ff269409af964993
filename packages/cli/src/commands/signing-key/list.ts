import { bodyOf } from '../../api/api-client.ts'
import { list } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const listSigningKeys = command({
  path: 'signing-key list',
  options: {},
  summary: 'List the keys that sign ID tokens',
  description:
    'The current key signs. Clients already know the next one, and still accept those that were retired within the last hour. ' +
    'Access tokens have other keys: secret status, app signing.',
  examples: ['signing-key list', 'signing-key list -o csv', 'signing-key list --json'],
  async run({ api }) {
    const { items } = await bodyOf(api.GET('/api/v1/admin/signing-keys'))
    async function* page() {
      yield items
    }
    return list(page(), ['kid', 'stage', 'since', 'created_at'], 'no keys')
  },
})
