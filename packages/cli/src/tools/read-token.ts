import { usageFailure } from '../command-line/exit-codes.ts'
import type { Tools } from './create-tools.ts'

/**
 * A token from standard input, or from a hidden prompt. `source` is what stands on the command line, where only `-` may: the failure does
 * not repeat it, since it may be the token.
 */
export async function readToken({ io, prompt }: Tools, source: string | undefined, path: string): Promise<string> {
  if (source !== undefined && source !== '-')
    throw usageFailure('a token is never taken on the command line', `authctl ${path} - reads it from standard input`)
  // A pipe works like `-`.
  const asks = source !== '-' && io.inputIsTerminal
  if (asks && !io.canAsk) throw usageFailure('a token is required', `authctl ${path} - reads it from standard input`)
  const token = (asks ? await prompt.hidden('Token:') : await io.readInput()).trim()
  if (token === '') throw usageFailure('standard input holds no token')
  return token
}
