import { viewContext } from '../../nouns/view-context.ts'
import { list, type Result } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

export const listContexts = command({
  path: 'context list',
  summary: 'List the contexts',
  examples: ['context list', 'context list --json', 'context list -o ndjson'],
  options: {},
  lists: 'whole',
  run: runListContexts,
})

export async function runListContexts({ contexts, now }: Tools): Promise<Result> {
  const { current, contexts: known } = contexts.read()
  const rows = Object.entries(known).map(([name, context]) => viewContext(name, context, current, now()))
  async function* onePage() {
    yield rows.sort((a, b) => (a.name < b.name ? -1 : 1))
  }
  return list(
    onePage(),
    ['name', 'current', 'base_url', 'email', 'protected', 'signed_in'],
    'no contexts: authctl login creates one',
  )
}
