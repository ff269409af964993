import { PlannedRequest, type Request } from '../api/api-client.ts'
import { Failure, toFailure, usageFailure } from '../command-line/exit-codes.ts'
import { type Input, type Options, text } from '../command-line/options.ts'
import { type Outcome, type Result, record, rowsOf } from '../output/render.ts'
import { askFor } from '../terminal/prompt.ts'
import { readSource, sourceName } from '../terminal/read-source.ts'
import { redactUrl } from '../text/redact.ts'
import type { Tools } from '../tools/create-tools.ts'
import { inLanes } from './in-lanes.ts'
import { findUserId, userRefSyntax } from './user-ref.ts'

/** The users of a command that takes one or many. */
export const userOptions = {
  user: text('USER', `User: ${userRefSyntax}`),
  fromFile: text('FILE', 'File with one user per line; # begins a comment, - is standard input'),
} satisfies Options

/** The result for one user. */
export interface Change {
  value: object
  outcome: Outcome
}

/** The users that a command names, as typed. */
export interface Named {
  refs: { line: number; ref: string }[]
  /** The users come from a file: each result is reported, and a failure does not stop the rest. */
  isList: boolean
  /** How a question names them: `bob@example.com`, or `12 users`. */
  who: string
}

/** Reads the users that a command names. Asks for one if none was named. `option` is how the command takes one. */
export async function readUsers(tools: Tools, { user, fromFile }: Input<typeof userOptions>, option = '--user'): Promise<Named> {
  if (fromFile === undefined) {
    const ref = user || (await askFor(tools, `${option} or --from-file`, `${userOptions.user.about}:`))
    return { refs: [{ line: 1, ref }], isList: false, who: ref }
  }
  if (user !== undefined) throw usageFailure(`${option} and --from-file contradict each other`)
  const refs = parseUserLines(await readSource(tools.io, fromFile))
  if (refs.length === 0) throw new Failure('invalid', `${sourceName(fromFile)} contains no users`, { code: 'empty_file' })
  return { refs, isList: true, who: refs.length === 1 ? refs[0]!.ref : `${refs.length} users` }
}

/** One user per line; `#` begins a comment at the start of a line or after a space, since an address may hold one. */
export function parseUserLines(text: string): Named['refs'] {
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map((line, index) => ({ line: index + 1, ref: line.replace(/(^|\s)#.*$/, '').trim() }))
    .filter(({ ref }) => ref !== '')
}

interface Row {
  line: number
  user: string
  outcome: Outcome | 'planned' | 'failed' | 'not_tried'
  code?: string
  message?: string
  request?: string
  /** What was done for the user, where a command says more than its outcome. */
  accounts?: object[]
}

/** Progress is shown after this many lines. */
const progressEvery = 100

/** Runs the action for each user. Prints the result for one user as it is, and for a list with counts. */
export async function forUsers(tools: Tools, named: Named, act: (userId: string) => Promise<Change>): Promise<Result> {
  const { api } = tools
  if (!named.isList) {
    const user = named.refs[0]!.ref
    const { value, outcome } = await act(await findUserId(api, user))
    // A grant has only the id of the user, which means nothing to people.
    return record('email' in value ? value : { user, ...value }, outcome)
  }
  return forRows(tools, named, (rows, { begins, ends }) =>
    inLanes(rows, async (row) => {
      begins([row])
      try {
        row.outcome = (await act(await findUserId(api, row.user))).outcome
      } catch (thrown) {
        if (thrown instanceof PlannedRequest) notePlan(row, thrown.requests)
        else noteFailure(row, toFailure(thrown))
      } finally {
        ends([row])
      }
    }),
  )
}

/** The outcome for one of many users who were sent together. */
export type Answered = Pick<Row, 'outcome' | 'code' | 'message' | 'request' | 'accounts'>

export function answered({ outcome, code, message }: Answered): Answered {
  return outcome === 'failed' ? { outcome, code, message } : { outcome }
}

/** Users in one request. This many names fit into its body, however long they are. */
const mostTogether = 100

/** Like `forUsers` for a list, with many users in one request. `act` returns an answer for each of them, in the same order. */
export async function forUsersTogether(
  tools: Tools,
  named: Named,
  act: (users: string[]) => Promise<Answered[]>,
): Promise<Result> {
  return forRows(tools, named, async (rows, { begins, ends }) => {
    for (let next = 0; next < rows.length; next += mostTogether) {
      const together = rows.slice(next, next + mostTogether)
      begins(together)
      try {
        const answers = await act(together.map(({ user }) => user))
        for (const [index, row] of together.entries()) Object.assign(row, answers[index])
      } catch (thrown) {
        // Nothing says for which of them the service has done it.
        const { code, message } = toFailure(thrown)
        for (const row of together) Object.assign(row, { outcome: 'failed', code, message })
        throw thrown
      }
      ends(together)
    }
  })
}

interface Watch {
  begins(rows: readonly Row[]): void
  ends(rows: readonly Row[]): void
}

/** Reports each user of a list, even if `work` stops early. */
async function forRows(tools: Tools, named: Named, work: (rows: Row[], watch: Watch) => Promise<void>): Promise<Result> {
  const rows = named.refs.map(({ line, ref }): Row => ({ line, user: ref, outcome: 'not_tried' }))
  const underWay = new Set<Row>()
  const forget = tools.onInterrupt(() => interrupted(rows, underWay))
  let ended = 0
  let fatal: Failure | undefined
  const watch: Watch = {
    begins: (some) => {
      for (const row of some) underWay.add(row)
    },
    ends: (some) => {
      for (const row of some) underWay.delete(row)
      ended += some.length
      if (ended % progressEvery === 0) tools.io.note(`${ended} of ${rows.length}`)
    },
  }
  try {
    await work(rows, watch)
  } catch (thrown) {
    fatal = toFailure(thrown)
  } finally {
    forget()
  }
  return report(rows, fatal, tools)
}

function notePlan(row: Row, requests: readonly Request[]): void {
  row.outcome = 'planned'
  row.request = requests.map(({ method, url }) => `${method} ${redactUrl(url)}`).join(', ')
}

/** Throws the failure if it would be the same for every user. */
function noteFailure(row: Row, failure: Failure): void {
  Object.assign(row, { outcome: 'failed', code: failure.code, message: failure.message })
  if (['bug', 'notSignedIn', 'unreachable', 'interrupted', 'usage', 'declined'].includes(failure.ending)) throw failure
}

const mostNamed = 10

function interrupted(rows: readonly Row[], underWay: ReadonlySet<Row>): Failure {
  const done = rows.filter((row) => row.outcome !== 'not_tried').length
  const lines = [...underWay].map(({ line }) => line)
  const named = lines.length > mostNamed ? `${lines[0]} to ${lines.at(-1)}` : lines.join(', ')
  const under = lines.length === 0 ? '' : `; in progress: ${lines.length === 1 ? 'line' : 'lines'} ${named}`
  return new Failure('interrupted', `interrupted: ${done} of ${rows.length} users are done${under}`, {
    code: 'interrupted',
    hint: 'run the same command again: users that are done stay unchanged',
  })
}

function report(rows: Row[], fatal: Failure | undefined, { io, place }: Pick<Tools, 'io' | 'place'>): Result {
  const counts: Record<string, number> = {}
  for (const { outcome } of rows) counts[outcome] = (counts[outcome] ?? 0) + 1
  const { planned = 0, failed = 0 } = counts
  if (planned > 0) io.note(`nothing was changed ${place()} (--dry-run)`)
  // A terminal shows only the number of successes.
  const shown = rows.filter(({ outcome }) => ['planned', 'failed', 'not_tried'].includes(outcome))
  const details = rowsOf(shown, ['line', 'user', 'outcome', 'code', ['detail', (row) => row.message ?? row.request]])
  const failure =
    fatal ?? (failed > 0 ? new Failure('failures', `${failed} of ${rows.length} failed`, { code: 'some_failed' }) : undefined)
  return {
    kind: 'report',
    value: { total: rows.length, counts, users: rows },
    parts: [...(shown.length > 0 ? [details, ''] : []), { record: { total: rows.length, ...counts } }],
    failure,
  }
}
