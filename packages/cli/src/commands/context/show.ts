import { command } from '../../command.ts'
import type { Tools } from '../../factory.ts'
import { type Input, optionalPositional } from '../../options.ts'
import { type Result, record } from '../../output.ts'
import { getContext } from './get.ts'
import { viewContext } from './view.ts'

const options = { name: optionalPositional('NAME', 'Which; the one in use unless given', { completes: 'contexts' }) }

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
