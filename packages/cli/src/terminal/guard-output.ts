import { endings } from '../command-line/exit-codes.ts'

/** A reader that closes the pipe early (`| head -1`) is not a failure. A full disk is one, in a line. */
export function guardOutput(leave: (exit: () => never) => void): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') process.stderr.write(`authctl: cannot write the result: ${error.message}\n`)
    leave(() => process.exit(error.code === 'EPIPE' ? endings.done.exit : endings.invalid.exit))
  })
  // Where not even a complaint can be written, the exit code tells.
  process.stderr.on('error', () => {})
}
