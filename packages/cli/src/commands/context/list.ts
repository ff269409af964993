import { viewContext } from '../../nouns/view-context.ts'
import { list } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const listContexts = command({
  path: 'context list',
  summary: 'List the contexts',
  examples: ['context list', 'context list --json', 'context list -o ndjson'],
  options: {},
  lists: 'whole',
  async run({ contexts, now }) {
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
  },
})
