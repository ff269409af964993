import { type Context, type ContextFile, findContext } from '../command-line/contexts.ts'
import { Failure } from '../command-line/exit-codes.ts'

/** The context of that name. Throws `context_not_found` if it does not exist. */
export function getContext(file: ContextFile, name: string): Context {
  const context = findContext(file, name)
  if (context) return context
  throw new Failure('notFound', `there is no context "${name}"`, {
    code: 'context_not_found',
    hint: 'authctl context list shows all contexts',
  })
}
