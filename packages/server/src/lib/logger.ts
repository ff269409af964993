type Line = [fields: object, message: string] | [message: string]

/** Options of pino: the minimum level, and the members whose values are redacted. */
interface ChildOptions {
  level?: string
  redact?: string[]
}

/** What the server logs with. */
export interface Logger {
  debug(...line: Line): void
  info(...line: Line): void
  warn(...line: Line): void
  error(...line: Line): void
  /** A logger that adds fields to each line. */
  child(fields: object, options?: ChildOptions): Logger
}
