import { command } from '../../command.ts'
import type { Tools } from '../../factory.ts'
import { type Input, positional } from '../../options.ts'
import { type Result, record } from '../../output.ts'
import { getContext } from './get.ts'
import { viewContext } from './view.ts'

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
