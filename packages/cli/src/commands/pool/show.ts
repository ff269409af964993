import { bodyOf, pages } from '../../api/api-client.ts'
import { Failure } from '../../command-line/exit-codes.ts'
import { type Input, positional } from '../../command-line/options.ts'
import { nearestName } from '../../nouns/nearest-name.ts'
import { type Result, rowsOf } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = { pool: positional('P', 'Name of the pool', { completes: 'pools' }) }

export const showPool = command({
  path: 'pool show',
  summary: 'Show a pool with the apps that use it',
  examples: ['pool show staff', 'pool show staff --json', 'pool show default'],
  options,
  run: runShowPool,
})

export async function runShowPool({ api }: Tools, { pool }: Input<typeof options>): Promise<Result> {
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
}
