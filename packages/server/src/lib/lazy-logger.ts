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

/** A logger that creates its child logger with its first line. For requests, most of which log nothing. */
export class LazyLogger implements Logger {
  readonly #parent: Logger
  readonly #fields: object
  #own: Logger | undefined

  constructor(parent: Logger, fields: object) {
    this.#parent = parent
    this.#fields = fields
  }

  debug(...line: Line): void {
    this.#logger.debug(...line)
  }

  info(...line: Line): void {
    this.#logger.info(...line)
  }

  warn(...line: Line): void {
    this.#logger.warn(...line)
  }

  error(...line: Line): void {
    this.#logger.error(...line)
  }

  child(fields: object, options?: ChildOptions): Logger {
    return this.#logger.child(fields, options)
  }

  get #logger(): Logger {
    this.#own ??= this.#parent.child(this.#fields)
    return this.#own
  }
}
