import { flag, type Input, type Options, text } from '../command-line/options.ts'
import { type Formats, listFormats } from '../command-line/settings.ts'
import type { Result } from '../output/render.ts'
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
  /** Set if its output formats differ from the usual ones. */
  formats?: Formats
  /** Set if its result is a list, which has more formats and options. On a terminal, a `long` list stops after a screenful. */
  lists?: 'whole' | 'long'
  run(tools: Tools, input: Input<O>): Promise<Result>
}

/** Rows of a long list on a terminal. */
export const screenful = 50

const columnsOption = text('NAMES', 'Columns to show, separated by commas; an unknown name lists all columns')
const allOption = flag(`All rows. Without this or --limit, a table on a terminal stops after ${screenful}`)

/** Ties the type of the input to the options. If the command is a list, adds the options that all lists take. */
export function command<O extends Options>(spec: Command<O>): Command {
  // `run` always gets what these options were parsed into.
  const tied = spec as unknown as Command
  if (tied.lists === undefined) return tied
  const options: Options = { ...tied.options, ...(tied.lists === 'long' ? { all: allOption } : {}), columns: columnsOption }
  return { ...tied, formats: listFormats, options }
}
