import { bodyOf } from '../api/api-client.ts'
import { type Input, type Options, requiredText } from '../command-line/options.ts'
import type { Result } from '../output/output.ts'
import type { Tools } from '../tools/create-tools.ts'
import { forUsers, readUsers, userOptions } from './for-users.ts'
import { parsePlainName } from './plain-name.ts'
import { noteNewPools } from './pool-names.ts'

export const tagOptions = { ...userOptions, pool: requiredText('POOL', 'The pool', { completes: 'pools' }) } satisfies Options

/** Adds or removes a pool tag. Sends nothing if there is nothing to change. */
export async function changeTag(
  tools: Tools,
  { pool, ...input }: Input<typeof tagOptions>,
  change: 'add' | 'remove',
): Promise<Result> {
  const { api } = tools
  const tag = parsePlainName(pool, 'pool')
  const users = await readUsers(tools, input)
  if (change === 'add') await noteNewPools(tools, [tag])
  return forUsers(tools, users, async (userId) => {
    const path = { userId }
    const user = await bodyOf(api.GET('/api/v1/admin/users/{userId}', { params: { path } }))
    const named = { user_id: user.id, email: user.email }
    const isSo = user.namespaces.includes(tag) === (change === 'add')
    if (isSo && user.status !== 'deleted') {
      return { value: { ...named, namespace: user.namespace, namespaces: user.namespaces }, outcome: 'unchanged' }
    }
    const body = { [change]: [tag] }
    const pools = await bodyOf(api.PATCH('/api/v1/admin/users/{userId}/namespaces', { params: { path }, body }))
    return { value: { ...named, ...pools }, outcome: change === 'add' ? 'tagged' : 'untagged' }
  })
}
