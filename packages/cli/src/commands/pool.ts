import { type Api, bodyOf, pages } from '../api/api-client.ts'
import { Failure } from '../command-line/exit-codes.ts'
import { count, type Input, type Options, positional, requiredText } from '../command-line/options.ts'
import { forUsers, readUsers, userOptions } from '../nouns/for-users.ts'
import { nearestName } from '../nouns/nearest-name.ts'
import { parsePlainName } from '../nouns/plain-name.ts'
import { noteNewPools } from '../nouns/pool-names.ts'
import { userRefOf } from '../nouns/user-ref.ts'
import { list, type Result, rowsOf } from '../output/render.ts'
import { confirmYes } from '../terminal/prompt.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'
import { listCommand } from '../tools/list-command.ts'

const tagOptions = { ...userOptions, pool: requiredText('POOL', 'The pool', { completes: 'pools' }) } satisfies Options

/** Adds or removes a pool tag. Sends nothing if there is nothing to change. */
async function changeTag(tools: Tools, { pool, ...input }: Input<typeof tagOptions>, change: 'add' | 'remove'): Promise<Result> {
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

export const listPools = listCommand({
  path: 'pool list',
  summary: 'List pools by name',
  description: 'Lists every pool that a user or an app uses.',
  examples: ['pool list', 'pool list --json', 'pool list --limit 20'],
  filters: {},
  read: (api, _, query) => api.GET('/api/v1/admin/namespaces', { params: { query } }),
  columns: [
    ['pool', ({ namespace }) => namespace],
    ['users', ({ user_count }) => user_count],
    ['tagged', ({ tagged_user_count }) => tagged_user_count],
    ['home_of', ({ apps }) => apps.filter((app) => app.as === 'registration').map(({ code }) => code)],
    ['read_by', ({ apps }) => apps.filter((app) => app.as === 'read').map(({ code }) => code)],
  ],
  none: 'no pools',
})

export const showPool = command({
  path: 'pool show',
  options: { pool: positional('P', 'Name of the pool', { completes: 'pools' }) },
  summary: 'Show a pool with the apps that use it',
  examples: ['pool show staff', 'pool show staff --json', 'pool show default'],
  async run({ api }, { pool }) {
    const pools = pages((query) => bodyOf(api.GET('/api/v1/admin/namespaces', { params: { query } })))
    const names: string[] = []
    for await (const page of pools) {
      names.push(...page.map(({ namespace }) => namespace))
      const found = page.find(({ namespace }) => namespace === pool)
      if (!found) continue
      const { apps, ...counts } = found
      const rows = rowsOf(apps, [['app', ({ code }) => code], ['names_it_as', (app) => app.as], 'id'])
      return { kind: 'report', value: found, parts: [{ record: counts }, ...(apps.length > 0 ? ['', rows] : [])] }
    }
    throw new Failure('notFound', `no user and no app uses the pool ${pool}${nearestName(pool, names)}`, {
      code: 'pool_not_found',
      hint: 'authctl pool list shows all pools',
    })
  },
})

export const listCollisions = command({
  path: 'pool collisions',
  options: {
    pool: positional('P', 'Name of a pool', { completes: 'pools' }),
    other: positional('Q', 'Name of another pool', { completes: 'pools' }),
    limit: count('N', 'Maximum number of e-mails. Default: all'),
  },
  summary: 'List e-mails that exist in both of two pools',
  description: 'In an app that reads both pools, only one of the two users with an e-mail can sign in.',
  examples: [
    'pool collisions staff partners',
    'pool collisions staff partners --json',
    'pool collisions staff partners --limit 20',
  ],
  lists: 'whole',
  async run({ api }, { pool, other, limit }) {
    const one = parsePlainName(pool, 'pool')
    const two = parsePlainName(other, 'pool')
    // The service checks only that the first pool exists. For a mistyped second one it would report no collisions.
    await readCollisions(api, two, { with: one, limit: 1 })
    const all = pages((page) => readCollisions(api, one, { with: two, ...page }), limit)
    return list(
      all,
      [
        'email',
        ['one', ({ users }) => users[0] && userRefOf(users[0])],
        ['other', ({ users }) => users[1] && userRefOf(users[1])],
      ],
      'no e-mail is in both',
    )
  },
})

function readCollisions(api: Api, namespace: string, query: { with: string; limit: number; cursor?: string }) {
  const params = { path: { namespace }, query }
  return bodyOf(api.GET('/api/v1/admin/namespaces/{namespace}/collisions', { params }))
}

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

export const tagUser = command({
  path: 'pool tag',
  summary: 'Let the apps that read a pool find a user of another pool',
  description: 'Sessions continue. Repeating it changes nothing.',
  examples: [
    'pool tag --user bob@example.com --pool partners',
    'pool tag --from-file users.txt --pool partners --json',
    'pool tag --user bob@example.com@@staff --pool partners --dry-run',
  ],
  options: tagOptions,
  run: (tools, input) => changeTag(tools, input, 'add'),
})

export const untagUser = command({
  path: 'pool untag',
  summary: 'Remove a pool tag from a user',
  description: 'Sessions continue. Repeating it changes nothing. The home pool is not a tag: authctl pool move changes it.',
  examples: [
    'pool untag --user bob@example.com --pool partners',
    'pool untag --from-file users.txt --pool partners --json',
    'pool untag --user bob@example.com@@staff --pool partners --dry-run',
  ],
  options: tagOptions,
  run: (tools, input) => changeTag(tools, input, 'remove'),
})
