import pino from 'pino'
import type { Logger } from '../lib/logger.ts'

/** The headers and body members whose values never go into a log, at any level. */
const redactedPaths = [
  ...['authorization', 'cookie', 'set-cookie', 'proxy-authorization'].flatMap((name) => [`headers.${name}`, `*.headers.${name}`]),
  ...[
    'password',
    'current_password',
    'new_password',
    'token',
    'access_token',
    'refresh_token',
    'two_factor_code',
    'device_token',
    'secret',
    'client_secret',
    'code_verifier',
  ].flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
]

/** One JSON object per line, on stdout by default. */
export function createLogger(level: string, destination: { write(line: string): void } = stdoutByTurns()): Logger {
  const options = {
    level,
    redact: { paths: redactedPaths, censor: '[REDACTED]' },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  return pino(options, destination)
}

/** Writes the lines of one turn of the event loop together at its end, since each write is a system call. */
function stdoutByTurns(): { write(line: string): void } {
  const stdout = pino.destination({ sync: true })
  let lines = ''
  const flush = () => {
    if (lines !== '') stdout.write(lines)
    lines = ''
  }
  process.on('exit', flush)
  return {
    write(line) {
      if (lines === '') setImmediate(flush)
      lines += line
    },
  }
}
