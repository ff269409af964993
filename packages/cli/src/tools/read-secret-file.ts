import { readFileSync } from 'node:fs'
import { Failure, messageOf } from '../command-line/exit-codes.ts'

/** The signing secret in a file, without the final line break, which editors add. */
export function readSecretFile(file: string): string {
  try {
    const secret = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
    if (secret !== '') return secret
  } catch (error) {
    throw new Failure('invalid', `cannot read the secret: ${messageOf(error)}`, { code: 'file_unreadable' })
  }
  throw new Failure('invalid', `${file} is empty`, { code: 'file_unreadable' })
}
