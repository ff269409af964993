import { readFileSync } from 'node:fs'
import { Failure, messageOf } from '../command-line/exit-codes.ts'
import type { Io } from './io.ts'

/** The text of a file, or of standard input if the file is `-`. */
export async function readSource({ readInput }: Pick<Io, 'readInput'>, file: string): Promise<string> {
  if (file === '-') return readInput()
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Failure('invalid', `cannot read ${file}: ${messageOf(error)}`, { code: 'file_unreadable' })
  }
}

/** The name of such a source in a message. */
export function sourceName(file: string): string {
  return file === '-' ? 'standard input' : file
}
