import { optionalPositional } from '../../command-line/options.ts'
import { getContext } from '../../nouns/get-context.ts'
import { viewContext } from '../../nouns/view-context.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const showContext = command({
  path: 'context show',
  options: { name: optionalPositional('NAME', 'Context to show. Default: the one in use', { completes: 'contexts' }) },
  summary: 'Show a context, without its tokens',
  examples: ['context show', 'context show production', 'context show --json'],
  async run({ connect, contexts, now }, input) {
    const name = input.name ?? connect().contextName
    const file = contexts.read()
    return record({ ...viewContext(name, getContext(file, name), file.current, now()), file: contexts.path })
  },
})
