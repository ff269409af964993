import { type Input, positional } from '../../command-line/options.ts'
import { getContext } from '../../nouns/get-context.ts'
import { viewContext } from '../../nouns/view-context.ts'
import { type Result, record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = { name: positional('NAME', 'Context', { completes: 'contexts' }) }

export const useContext = command({
  path: 'context use',
  summary: 'Choose the context that commands use',
  examples: ['context use production', 'context use default', 'context use production --dry-run'],
  options,
  run: runUseContext,
})

export async function runUseContext({ contexts, settings, now }: Tools, { name }: Input<typeof options>): Promise<Result> {
  const read = contexts.read()
  const context = getContext(read, name)
  if (!settings.dryRun) {
    await contexts.change((file) => {
      getContext(file, name)
      file.current = name
    })
  }
  return record(viewContext(name, context, name, now()), read.current === name ? 'unchanged' : 'updated')
}
