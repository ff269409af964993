import type { Input, Options } from '../command-line/options.ts'
import type { Formats } from '../command-line/settings.ts'
import type { Result } from '../output/output.ts'
import type { Tools } from './create-tools.ts'

/** The texts of a command in help and reference. */
export interface Wording {
  /** `app create`, or `login`. */
  path: string
  summary: string
  /** Details, in sentences. */
  description?: string
  /** Examples, from common to rare. */
  examples: readonly [string, string, string]
}

export interface Command<O extends Options = Options> extends Wording {
  options: O
  /** The confirmation it needs: `--yes`, or the name in `--confirm`. */
  confirms?: 'yes' | 'name'
  /** Set if it has output formats of its own. */
  formats?: Formats
  run(tools: Tools, input: Input<O>): Promise<Result>
}

/** Ties the type of the input to the options. */
export function command<O extends Options>(spec: Command<O>): Command {
  // `run` always gets what these options were parsed into.
  return spec as unknown as Command
}
