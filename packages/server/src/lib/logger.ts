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

/** Where a request belongs in a distributed trace, as its caller says. Only for the log: callers can write anything there. */
interface TraceContext {
  traceId: string
  /** The span of the caller, which is the parent of the work done here. */
  spanId: string
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-[^,]*)?$/

/**
 * Reads `traceparent` of W3C Trace Context. Undefined if the header breaks its grammar. Of later versions, it reads the parts
 * that version 00 has. Two headers arrive joined by a comma, and count as none.
 */
export function readTraceparent(header: string): TraceContext | undefined {
  const [, version, traceId, spanId, more] = form.exec(header) ?? []
  if (version === undefined || traceId === undefined || spanId === undefined) return undefined
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (isZero(traceId) || isZero(spanId)) return undefined
  return { traceId, spanId }
}

function isZero(digits: string): boolean {
  return /^0+$/.test(digits)
}
