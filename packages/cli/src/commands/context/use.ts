import { positional } from '../../command-line/options.ts'
import { getContext } from '../../nouns/get-context.ts'
import { viewContext } from '../../nouns/view-context.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const useContext = command({
  path: 'context use',
  options: { name: positional('NAME', 'Context', { completes: 'contexts' }) },
  summary: 'Choose the context that commands use',
  examples: ['context use production', 'context use default', 'context use production --dry-run'],
  async run({ contexts, settings, now }, { name }) {
    const read = contexts.read()
    const context = getContext(read, name)
    if (!settings.dryRun) {
      await contexts.change((file) => {
        getContext(file, name)
        file.current = name
      })
    }
    return record(viewContext(name, context, name, now()), read.current === name ? 'unchanged' : 'updated')
  },
})
