import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { SecretFile } from '../config.ts'
import { codeOf } from '../lib/system-error-code.ts'

const limitBytes = 65_536
const readableByOthers = 0o004
const searchableByOthers = 0o001

/** Reads the value of a setting from a file. `fault` leaves out the path, which may be a secret set under the wrong name. */
export function readSecretFile(path: string): SecretFile {
  try {
    // Without O_NONBLOCK, opening a pipe would wait for a writer.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      return readWhole(file, path)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    return { fault: `names a file that cannot be read (${codeOf(error) ?? 'not UTF-8'})` }
  }
}

function readWhole(file: number, path: string): SecretFile {
  const stats = fstatSync(file)
  if (!stats.isFile()) return { fault: 'does not name a regular file' }
  if (stats.size > limitBytes) return { fault: 'names a file of more than 64 KiB' }
  const bytes = Buffer.alloc(limitBytes)
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, readSync(file, bytes)))
  return { text, isReadableByOthers: (stats.mode & readableByOthers) !== 0 && isReachableByOthers(realpathSync(path), stats.dev) }
}

/** Whether each folder above a file lets other users through. `device` is where the file is, undefined for a folder. */
function isReachableByOthers(path: string, device?: number): boolean {
  const folder = dirname(path)
  const { mode, dev } = statSync(folder)
  // A container runtime has mounted this file on its own, as Docker Compose does. Its machine, the container, has no other users.
  if (device !== undefined && device !== dev) return false
  if ((mode & searchableByOthers) === 0) return false
  return folder === dirname(folder) || isReachableByOthers(folder)
}

/**
 * The random secret in a file of this name, created on first use and readable only by its owner. Of concurrent programs one
 * creates it and all read the same secret: the file appears complete or not at all.
 */
export function keptSecret(folder: string, name: string): string {
  const path = join(folder, name)
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  try {
    linkSync(draft, path)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return readFileSync(path, 'utf8').trim()
}
