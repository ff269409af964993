import { Failure } from '../command-line/exit-codes.ts'

export interface Finding {
  level: 'ok' | 'warn' | 'fail'
  /** What was looked at; a stable word. */
  check: string
  /** Code of the app that it is about. */
  app: string | null
  message: string
  /** The command that mends it, or what to do where none does. */
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

/** What the service refused, or that it cannot be reached, as a finding. Throws on what is a bug. */
export function faultOf(check: string, thrown: unknown): Finding {
  if (!(thrown instanceof Failure) || thrown.ending === 'bug') throw thrown
  return fault({ check }, thrown.message, thrown.hint ?? null)
}
