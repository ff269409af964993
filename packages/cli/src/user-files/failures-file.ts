import { closeSync, lstatSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { Failure, messageOf, usageFailure } from '../command-line/exit-codes.ts'

const newline = 0x0a

/** The file for rows that could not be imported. */
export interface FailuresFile {
  /** Appends a row unchanged. Returns its line in this file, counted from 1. */
  add(row: Uint8Array): number
  /** Sets the line before the first row. It is written only if there is a row. */
  setHeader(header: Uint8Array): void
  close(): void
}

/**
 * Opens a new file that only its owner may read, since rows hold password hashes. A regular file of that name is replaced.
 * Anything else, also a link, is refused, and so is the file that is being imported. Each row is written at once, so that no row
 * is lost however the command ends.
 */
export function openFailuresFile(path: string, source: string): FailuresFile {
  const there = lstatSync(path, { throwIfNoEntry: false })
  if (there && !there.isFile()) throw usageFailure(`--failures ${path} is not a regular file`, 'nothing was sent')
  const read = source === '-' ? undefined : statSync(source, { throwIfNoEntry: false })
  if (there && read && there.dev === read.dev && there.ino === read.ino)
    throw usageFailure('--failures names the file that is imported', 'choose another name; nothing was sent')
  const file = attempt(path, () => {
    rmSync(path, { force: true })
    return openSync(path, 'wx', 0o600)
  })
  let lines = 0
  let header: Uint8Array | undefined
  const append = (row: Uint8Array): number => {
    attempt(path, () => writeWhole(file, Buffer.concat([row, Buffer.from('\n')])))
    const first = lines + 1
    lines += 1 + row.filter((byte) => byte === newline).length
    return first
  }
  return {
    add(row) {
      if (header) append(header)
      header = undefined
      return append(row)
    },
    setHeader(line) {
      header = line
    },
    close: () => closeSync(file),
  }
}

function writeWhole(file: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written)
}

function attempt<T>(path: string, write: () => T): T {
  try {
    return write()
  } catch (error) {
    throw new Failure('invalid', `cannot write ${path}: ${messageOf(error)}`, { code: 'file_unwritable', cause: error })
  }
}
