import { usageFailure } from '../command-line/exit-codes.ts'
import { type Connection, isAtContext, placeOf, type Settings } from '../command-line/settings.ts'
import type { Io } from './io.ts'
import { declined, type Prompt } from './prompt.ts'

interface Asking {
  settings: Pick<Settings, 'yes' | 'dryRun'>
  io: Pick<Io, 'canAsk' | 'complain' | 'showProgress'>
  prompt: Prompt
}

/**
 * Confirms the first write of a command in a protected context: the user types the name of the context. A script names the
 * context with --context and adds --yes. A context that the environment or `context use` chose does not count as named.
 */
export async function confirmProtected({ settings, io, prompt }: Asking, connection: Connection): Promise<void> {
  const { contextName, context, isContextNamed } = connection
  if (settings.dryRun || !context?.protected || !isAtContext(connection)) return
  if (!io.canAsk) {
    if (isContextNamed && settings.yes) return
    throw usageFailure(
      `the context ${contextName} is protected: to write ${placeOf(connection)} without a terminal, --context ${contextName} and --yes are required`,
      'nothing was done',
    )
  }
  io.showProgress(undefined)
  io.complain(`*** PROTECTED: this writes ${placeOf(connection)} ***`)
  if ((await prompt.text(`To continue, type ${contextName}:`)) !== contextName) throw declined()
}
