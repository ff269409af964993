import { type Input, optionalPositional } from '../../command-line/options.ts'
import { getContext } from '../../nouns/get-context.ts'
import { viewContext } from '../../nouns/view-context.ts'
import { type Result, record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = { name: optionalPositional('NAME', 'Context to show. Default: the one in use', { completes: 'contexts' }) }

export const showContext = command({
  path: 'context show',
  summary: 'Show a context, without its tokens',
  examples: ['context show', 'context show production', 'context show --json'],
  options,
  run: runShowContext,
})

export async function runShowContext({ connect, contexts, now }: Tools, input: Input<typeof options>): Promise<Result> {
  const name = input.name ?? connect().contextName
  const file = contexts.read()
  return record({ ...viewContext(name, getContext(file, name), file.current, now()), file: contexts.path })
}
