import pino, { type Logger } from 'pino'

/** Never in a log, at any level: not the value of a header, nor that of a member of a body. */
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

/** One JSON object per line, on stdout unless told. */
export function createLogger(level: string, destination: { write(line: string): void } = stdoutByTurns()): Logger {
  const options = {
    level,
    redact: { paths: redactedPaths, censor: '[REDACTED]' },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  return pino(options, destination)
}

/** What one turn of the event loop logs is written at its end, at once: each request logs a line, and each write is a call of the kernel. */
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
