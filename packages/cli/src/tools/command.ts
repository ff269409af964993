import type { Input, Options } from '../command-line/options.ts'
import type { Formats } from '../command-line/settings.ts'
import type { Result } from '../output/output.ts'
import type { Tools } from './create-tools.ts'

/** What help and reference say of a command. */
export interface Wording {
  /** `app create`, or `login`. */
  path: string
  summary: string
  /** More than the summary says; sentences. */
  description?: string
  /** What one would type, from the common to the rare. */
  examples: readonly [string, string, string]
}

export interface Command<O extends Options = Options> extends Wording {
  options: O
  /** The confirmation it needs: `--yes`, or the name once more in `--confirm`. */
  confirms?: 'yes' | 'name'
  /** Where it has output formats of its own. */
  formats?: Formats
  run(tools: Tools, input: Input<O>): Promise<Result>
}

/** Ties the type of the input to the options. */
export function command<O extends Options>(spec: Command<O>): Command {
  // `run` is only ever called with what these very options were parsed into.
  return spec as unknown as Command
}
