import { count, type Input } from '../../command-line/options.ts'
import { poolPages } from '../../nouns/read-pools.ts'
import { list, type Result } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = { limit: count('N', 'At most so many; all unless given') }

export const listPools = command({
  path: 'pool list',
  summary: 'List pools by name',
  description: 'Those that a user or an app names.',
  examples: ['pool list', 'pool list --json', 'pool list --limit 20'],
  options,
  run: runListPools,
})

export async function runListPools({ api }: Tools, { limit }: Input<typeof options>): Promise<Result> {
  return list(
    poolPages(api, limit),
    [
      ['pool', ({ namespace }) => namespace],
      ['users', ({ user_count }) => user_count],
      ['tagged', ({ tagged_user_count }) => tagged_user_count],
      ['home_of', ({ apps }) => apps.filter((app) => app.as === 'registration').map(({ code }) => code)],
      ['read_by', ({ apps }) => apps.filter((app) => app.as === 'read').map(({ code }) => code)],
    ],
    'no pools',
  )
}
