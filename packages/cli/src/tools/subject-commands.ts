// Commands that are the same for every noun.
import type { Api } from '../api/api-client.ts'
import { flag, type Positional } from '../command-line/options.ts'
import { type Outcome, record } from '../output/render.ts'
import { confirmName, confirmYes } from '../terminal/prompt.ts'
import { type Command, command, type Wording } from './command.ts'

interface ShowSpec extends Wording {
  subject: Positional<true>
  read(api: Api, typed: string): Promise<object>
}

/** A command that shows the record of the service as it is. */
export function showCommand({ subject, read, ...wording }: ShowSpec): Command {
  return command({ ...wording, options: { subject }, run: async ({ api }, { subject }) => record(await read(api, subject)) })
}

interface DeleteSpec extends Wording {
  /** What the question calls it: `app`. */
  noun: string
  subject: Positional<true>
  /** What `--force` does, if the command has it. */
  force?: string
  /** Refuses an invalid code before it asks anything. */
  parse(typed: string): string
  remove(api: Api, code: string, query: { force?: true }): Promise<unknown>
}

/** A command that deletes something by its code, once the user has confirmed the code. */
export function deleteCommand({ noun, subject, force, parse, remove, ...wording }: DeleteSpec): Command {
  return command({
    ...wording,
    options: { subject, ...(force === undefined ? {} : { force: flag(force) }) },
    confirms: 'name',
    async run(tools, input) {
      const code = parse(input.subject)
      await confirmName(tools, input.subject, `delete the ${noun} ${input.subject}`)
      await remove(tools.api, code, input.force ? { force: true } : {})
      return record({ code: input.subject }, 'deleted')
    },
  })
}

/** Something that has a status. */
export interface StatusNoun<Status extends string> {
  subject: Positional<true>
  find(api: Api, typed: string): Promise<{ before: { status: string }; write(status: Status): Promise<object> }>
}

interface StatusSpec<Status extends string> extends Wording {
  noun: StatusNoun<Status>
  status: Status
  outcome: Outcome
  /** What `--yes` confirms. If absent, the command does not ask. */
  action?: (typed: string) => string
}

/** A command that sets a status. It sends nothing if the status is already set. */
export function statusCommand<Status extends string>({ noun, status, outcome, action, ...wording }: StatusSpec<Status>): Command {
  return command({
    ...wording,
    options: { subject: noun.subject },
    confirms: action && 'yes',
    async run(tools, { subject }) {
      if (action) await confirmYes(tools, action(subject))
      const { before, write } = await noun.find(tools.api, subject)
      return before.status === status ? record(before, 'unchanged') : record(await write(status), outcome)
    },
  })
}
