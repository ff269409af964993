import { z } from 'zod'

const about = (description: string) => ({ description })

const argument = z.strictObject({
  name: z.string().meta(about('Placeholder of the value, such as `CODE`')),
  description: z.string(),
  required: z.boolean().meta(about('On a terminal, authctl asks for a missing one; without a terminal it ends with exit 2')),
})

const option = z.strictObject({
  flag: z.string().meta(about('`--redirect`')),
  short: z.string().optional().meta(about('`-f`')),
  negation: z.string().optional().meta(about('`--no-auto-grant`, of an option that can be turned on and off')),
  value: z.string().optional().meta(about('Placeholder of the value; an option without one takes none')),
  choices: z.array(z.string()).optional().meta(about('All values that it takes')),
  default: z.string().optional().meta(about('The value if it is not given')),
  description: z.string(),
  required: z.boolean(),
  repeatable: z.boolean().meta(about('Takes several values, after one flag or after several')),
})

/** What `authctl --help --json` prints. Only the tests and the reference use it as a value. */
export const helpSchema = z.strictObject({
  path: z.string().meta(about('`app create`, `app` for a group, or an empty text for authctl itself')),
  description: z.string().meta(about('What it does, in sentences')),
  version: z.string().optional().meta(about('Only of authctl itself')),
  examples: z.array(z.string()).meta(about('Command lines, without `authctl`')),
  arguments: z.array(argument).meta(about('In their order')),
  options: z.array(option).meta(about('Of authctl itself: those of every command')),
  confirmation: z.enum(['yes', 'name']).optional().meta(about('What a script must send: `--yes`, or `--confirm` with the name')),
  formats: z.array(z.string()).optional().meta(about('Values of `-o`, of a command')),
  exit_codes: z
    .array(z.strictObject({ exit: z.int(), meaning: z.string() }))
    .optional()
    .meta(about('Only of authctl itself')),
  get commands() {
    return z.array(helpSchema).meta(about('What is below it, in the same shape; empty for a command'))
  },
})

export type HelpAsJson = z.infer<typeof helpSchema>

/** The members of each shape, for the reference. */
export const helpShapes = { help: helpSchema, argument, option }
