import { positional } from '../../command-line/options.ts'
import { getContext } from '../../nouns/get-context.ts'
import { viewContext } from '../../nouns/view-context.ts'
import { record } from '../../output/output.ts'
import { confirmName } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'

export const deleteContext = command({
  path: 'context delete',
  options: { name: positional('NAME', 'Context', { completes: 'contexts' }) },
  summary: 'Forget a context and its tokens',
  description: 'The session at the service continues; to end it, run authctl logout first.',
  examples: ['context delete staging --confirm staging', 'context delete staging', 'context delete staging --dry-run'],
  confirms: 'name',
  async run(tools, { name }) {
    const { contexts, settings, now, io, prompt } = tools
    await confirmName({ settings, io, prompt }, name, `delete the context ${name}`)
    const file = contexts.read()
    const answer = record(viewContext(name, getContext(file, name), file.current, now()), 'deleted')
    if (settings.dryRun) return answer
    const current = await contexts.change((file) => {
      delete file.contexts[name]
      if (file.current === name) file.current = null
      return file.current
    })
    if (current === null) io.note('no context is in use now: authctl context use NAME')
    return answer
  },
})
