/** What `authctl` ends with. Scripts switch on these numbers: they never change. */
export const exitCodes = {
  done: 0,
  bug: 1,
  usage: 2,
  notFound: 3,
  notSignedIn: 4,
  conflict: 5,
  invalid: 6,
  unreachable: 7,
  failures: 8,
  declined: 9,
  differences: 10,
  interrupted: 130,
} as const

export type Ending = keyof typeof exitCodes

/** The table of the reference and of `authctl --help`. */
export const exitMeanings: Record<Ending, string> = {
  done: 'done, or nothing was to be changed',
  bug: 'a bug in authctl',
  usage: 'wrong usage, or a confirmation is missing; nothing was done',
  notFound: 'not found',
  notSignedIn: 'not signed in, or the role system_admin is missing',
  conflict: 'conflict with what is there',
  invalid: 'invalid or ambiguous input',
  unreachable: 'the service cannot be reached, fails, or limits the rate, after retries',
  failures: 'finished, with failures',
  declined: 'declined at a prompt',
  differences: 'differences were found',
  interrupted: 'interrupted by Ctrl-C',
}

export interface FailureDetails {
  /** A stable word: the service's own code, or one of ours. */
  code: string
  /** What to do about it. */
  hint?: string | undefined
  /** The service's name for the request, to be found in its log. */
  requestId?: string | undefined
  cause?: unknown
}

/** An end without success that the user is told in a sentence. Anything else that is thrown is a bug (exit 1). */
export class Failure extends Error {
  readonly ending: Exclude<Ending, 'done'>
  readonly code: string
  readonly hint: string | undefined
  readonly requestId: string | undefined

  constructor(ending: Exclude<Ending, 'done'>, message: string, { code, hint, requestId, cause }: FailureDetails) {
    super(message, { cause })
    this.name = 'Failure'
    this.ending = ending
    this.code = code
    this.hint = hint
    this.requestId = requestId
  }

  get exit(): number {
    return exitCodes[this.ending]
  }
}

export function usageFailure(message: string, hint?: string): Failure {
  return new Failure('usage', message, { code: 'usage', hint })
}

/** For any exception at the outermost edge. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown
  // inquirer's word for Ctrl-C and a closed input.
  if (thrown instanceof Error && thrown.name === 'ExitPromptError') {
    return new Failure('interrupted', 'interrupted; nothing was done', { code: 'interrupted' })
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return new Failure('bug', `unexpected: ${message}`, {
    code: 'bug',
    hint: 'run it again with --debug for the details',
    cause: thrown,
  })
}
