import { bodyOf } from '../../api/api-client.ts'
import { requiredText } from '../../command-line/options.ts'
import { forUsers, readUsers, userOptions } from '../../nouns/for-users.ts'
import { parsePlainName } from '../../nouns/plain-name.ts'
import { noteNewPools } from '../../nouns/pool-names.ts'
import { confirmYes } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'

export const movePool = command({
  path: 'pool move',
  options: { ...userOptions, to: requiredText('P', 'The new home pool', { completes: 'pools' }) },
  summary: 'Move a user to another home pool',
  description:
    'Ends all sessions of the user, because tokens name the pool. A tag for the new pool is dropped, and the old pool does not become ' +
    'a tag. Repeating it changes nothing.',
  examples: [
    'pool move --user bob@example.com@@default --to staff --yes',
    'pool move --from-file users.txt --to staff --yes --json',
    'pool move --user bob@example.com --to staff --dry-run',
  ],
  confirms: 'yes',
  async run(tools, { to, ...input }) {
    const { api } = tools
    const namespace = parsePlainName(to, 'pool')
    const users = await readUsers(tools, input)
    await noteNewPools(tools, [namespace])
    await confirmYes(tools, `move ${users.who} to the pool ${to}`)
    return forUsers(tools, users, async (userId) => {
      const path = { userId }
      const before = await bodyOf(api.GET('/api/v1/admin/users/{userId}', { params: { path } }))
      const isThere = before.status !== 'deleted' && before.namespace === namespace
      if (isThere) return { value: before, outcome: 'unchanged' }
      const value = await bodyOf(api.PUT('/api/v1/admin/users/{userId}/namespace', { params: { path }, body: { namespace } }))
      return { value, outcome: 'moved' }
    })
  },
})
