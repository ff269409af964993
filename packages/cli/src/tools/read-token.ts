import { usageFailure } from '../command-line/exit-codes.ts'
import type { Tools } from './create-tools.ts'

/** Like `readTokens`, for a single token. Throws `usage` if there are several. */
export async function readToken(tools: Tools, source: string | undefined, path: string): Promise<string> {
  const [token, ...others] = await readTokens(tools, source, path)
  if (others.length > 0) throw usageFailure('standard input contains more than one token', 'authctl token trace - takes several')
  return token
}

/**
 * Reads tokens from standard input, one per line, or one from a hidden prompt. `source` is the argument on the command line,
 * which may only be `-`. The failure does not repeat it, since it may be the token.
 */
export async function readTokens(
  { io, prompt }: Tools,
  source: string | undefined,
  path: string,
): Promise<[string, ...string[]]> {
  if (source !== undefined && source !== '-')
    throw usageFailure('a token is never taken on the command line', `authctl ${path} - reads it from standard input`)
  // A pipe works like `-`.
  const asks = source !== '-' && io.inputIsTerminal
  if (asks && !io.canAsk) throw usageFailure('a token is required', `authctl ${path} - reads it from standard input`)
  const typed = asks ? await prompt.hidden('Token:') : await io.readInput()
  const [first, ...others] = typed.split(/\s+/).filter((word) => word !== '')
  if (first === undefined) throw usageFailure('standard input does not contain a token')
  return [first, ...others]
}
