import { endings } from '../command-line/exit-codes.ts'

/** A reader that closes the pipe early (`| head -1`) is not a failure. A full disk is, and is reported in one line. */
export function guardOutput(leave: (exit: () => never) => void): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') process.stderr.write(`authctl: cannot write the result: ${error.message}\n`)
    leave(() => process.exit(error.code === 'EPIPE' ? endings.done.exit : endings.invalid.exit))
  })
  // If stderr cannot be written either, only the exit code reports the failure.
  process.stderr.on('error', () => {})
}
