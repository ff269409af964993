import { bodyOf, pages } from '../../api/api-client.ts'
import { Failure } from '../../command-line/exit-codes.ts'
import { positional } from '../../command-line/options.ts'
import { nearestName } from '../../nouns/nearest-name.ts'
import { rowsOf } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

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
