/**
 * The exit codes of `authctl`, as in the reference and in `authctl --help`. Scripts depend on these numbers: they never change.
 */
export const endings = {
  done: { exit: 0, meaning: 'success, or there was nothing to change' },
  bug: { exit: 1, meaning: 'a bug in authctl' },
  usage: { exit: 2, meaning: 'wrong usage, or a confirmation is missing; nothing was done' },
  notFound: { exit: 3, meaning: 'not found' },
  notSignedIn: { exit: 4, meaning: 'not signed in, or the role system_admin is missing' },
  conflict: { exit: 5, meaning: 'conflict with the current state' },
  invalid: { exit: 6, meaning: 'invalid or ambiguous input' },
  unreachable: { exit: 7, meaning: 'the service or a backend is unreachable, fails or limits the rate, even after retries' },
  failures: { exit: 8, meaning: 'finished, with failures' },
  declined: { exit: 9, meaning: 'declined at a prompt' },
  differences: { exit: 10, meaning: 'differences were found' },
  interrupted: { exit: 130, meaning: 'interrupted by Ctrl-C' },
} as const

export type Ending = keyof typeof endings

interface FailureDetails {
  /** A stable code, from the service or from authctl itself. */
  code: string
  /** What to do about it. */
  hint?: string | undefined
  /** The id of the request, to find it in the log of the service. */
  requestId?: string | undefined
  /** What the service refuses of the request, by path, such as `webhooks.0.url`. */
  errors?: readonly { path: string; message: string }[] | undefined
  cause?: unknown
}

/** A failure that the user sees as a sentence. Any other exception is a bug (exit 1). */
export class Failure extends Error {
  readonly ending: Exclude<Ending, 'done'>
  readonly code: string
  readonly hint: string | undefined
  readonly requestId: string | undefined
  readonly errors: readonly { path: string; message: string }[]

  constructor(ending: Exclude<Ending, 'done'>, message: string, { code, hint, requestId, errors, cause }: FailureDetails) {
    super(message, { cause })
    this.name = 'Failure'
    this.ending = ending
    this.code = code
    this.hint = hint
    this.requestId = requestId
    this.errors = errors ?? []
  }

  get exit(): number {
    return endings[this.ending].exit
  }
}

export function usageFailure(message: string, hint?: string): Failure {
  return new Failure('usage', message, { code: 'usage', hint })
}

/** Turns any exception into a failure, for the outermost handler. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown
  // inquirer throws this for Ctrl-C and for a closed input.
  if (thrown instanceof Error && thrown.name === 'ExitPromptError') {
    return new Failure('interrupted', 'interrupted; nothing was done', { code: 'interrupted' })
  }
  return new Failure('bug', `unexpected: ${messageOf(thrown)}`, {
    code: 'bug',
    hint: 'run it again with --debug for the details',
    cause: thrown,
  })
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** The code of an operating system error, such as `ENOENT`. */
export function systemCodeOf(thrown: unknown): unknown {
  return thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
}
