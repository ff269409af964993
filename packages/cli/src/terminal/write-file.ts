import {
  accessSync,
  constants,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { Failure, messageOf } from '../command-line/exit-codes.ts'

/** The content of a file. Undefined if it cannot be read. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** Throws `file_unwritable` if the file could not be written now. */
export function assertWritable(file: string): void {
  try {
    if (existsSync(file) && !statSync(file).isFile()) throw new Error('it is not a file')
    accessSync(existsSync(file) ? file : dirname(file), constants.W_OK)
  } catch (error) {
    throw new Failure('invalid', `cannot write ${file}: ${messageOf(error)}`, { code: 'file_unwritable' })
  }
}

/**
 * Throws `file_unwritable`, also if the file exists and `replaces` is false. Only its owner may read a private file. It is replaced
 * as a whole, because it may hold what is nowhere else.
 */
export function writeFile(file: string, content: string, { isPrivate = false, replaces = true } = {}): void {
  const mode = isPrivate ? 0o600 : 0o666
  try {
    if (!isPrivate || !replaces || !existsSync(file)) {
      writeFileSync(file, content, { flag: replaces ? 'w' : 'wx', mode })
      return
    }
    // The file itself, where a link leads to it.
    const target = realpathSync(file)
    const staged = `${target}.${process.pid}.tmp`
    writeFileSync(staged, content, { flag: 'wx', mode })
    try {
      renameSync(staged, target)
    } catch (error) {
      rmSync(staged, { force: true })
      throw error
    }
  } catch (error) {
    throw new Failure('invalid', `cannot write ${file}: ${messageOf(error)}`, { code: 'file_unwritable' })
  }
}
