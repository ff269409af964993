import { Failure } from '../command-line/exit-codes.ts'

export interface Finding {
  level: 'ok' | 'warn' | 'fail'
  /** The stable name of the check. */
  check: string
  /** The code of the app. */
  app: string | null
  message: string
  /** The command that fixes it, or what to do without one. */
  fix: string | null
}

type Subject = Pick<Finding, 'check'> & Partial<Pick<Finding, 'app'>>

export function fine({ check, app = null }: Subject, message: string): Finding {
  return { level: 'ok', check, app, message, fix: null }
}

export function warning({ check, app = null }: Subject, message: string, fix: string | null): Finding {
  return { level: 'warn', check, app, message, fix }
}

export function fault({ check, app = null }: Subject, message: string, fix: string | null): Finding {
  return { level: 'fail', check, app, message, fix }
}

/** Turns a refusal of the service, or its absence, into a finding. Rethrows other errors. */
export function faultOf(check: string, thrown: unknown): Finding {
  if (!(thrown instanceof Failure) || thrown.ending === 'bug') throw thrown
  return fault({ check }, thrown.message, thrown.hint ?? null)
}
