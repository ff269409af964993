import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Failure, messageOf, systemCodeOf, usageFailure } from './exit-codes.ts'

/** The tokens of a session; times in milliseconds since 1970, by this machine's clock. */
export interface StoredTokens {
  access_token: string
  access_expires_at: number
  /** The token is renewed from this moment on, before it expires. */
  renew_at: number
  refresh_token: string
  refresh_expires_at: number
}

export interface Context {
  base_url: string
  email: string | null
  tokens: StoredTokens | null
  /** The user confirms writes there with the name of the context. */
  protected?: boolean
  /** Shows the service at the next login that this machine has signed in before. It outlives the session, and opens nothing. */
  device_token?: string
}

export interface ContextFile {
  version: 1
  current: string | null
  contexts: Record<string, Context>
}

export interface ContextStore {
  readonly path: string
  read(): ContextFile
  /** Reads the contexts, runs `change` on them and writes them while other processes wait. Writes nothing if `change` throws. */
  change<T>(change: (file: ContextFile) => T | Promise<T>): Promise<T>
}

const pollMs = 40
const patienceMs = 40_000
/** A lock older than this was left behind: no process needs that long. */
const abandonedMs = 90_000

const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** Throws `usage` unless a context can have this name. */
export function assertContextName(name: string): void {
  if (!nameForm.test(name))
    throw usageFailure(`"${name}" is not a valid context name`, 'use letters, digits, . _ and -, at most 64')
}

export function findContext(file: ContextFile, name: string): Context | undefined {
  return Object.hasOwn(file.contexts, name) ? file.contexts[name] : undefined
}

let changes = 0

/** Whether this process is changing the contexts. Ending it now could lose a refresh token after the old one was spent. */
export function isChangingContexts(): boolean {
  return changes > 0
}

/** Contexts with their tokens in one file that only its owner can read. */
export function openContexts(folder: string): ContextStore {
  const path = join(folder, 'contexts.json')

  function read(): ContextFile {
    let content: string
    try {
      assertPrivate(path)
      content = readFileSync(path, 'utf8')
    } catch (error) {
      if (systemCodeOf(error) === 'ENOENT') return { version: 1, current: null, contexts: {} }
      if (error instanceof Failure) throw error
      throw new Failure('invalid', `cannot read ${path}: ${messageOf(error)}`, { code: 'contexts_unreadable' })
    }
    return parseContexts(content, path)
  }

  function write(file: ContextFile): void {
    const staging = `${path}.${process.pid}.${crypto.randomUUID().slice(0, 8)}`
    try {
      const descriptor = openSync(staging, 'wx', 0o600)
      writeFileSync(descriptor, `${JSON.stringify(file, undefined, 2)}\n`)
      // The old refresh token is already spent, so an empty file after a power cut would lose the session.
      fsyncSync(descriptor)
      closeSync(descriptor)
      renameSync(staging, path)
    } finally {
      rmSync(staging, { force: true })
    }
  }

  return {
    path,
    read,
    async change(change) {
      const release = await takeLock(folder)
      changes += 1
      try {
        const file = read()
        const before = JSON.stringify(file)
        const result = await change(file)
        if (JSON.stringify(file) !== before) write(file)
        return result
      } finally {
        release()
        changes -= 1
      }
    },
  }
}

/** Throws `contexts_not_private` if other users can open the file: it holds refresh tokens. On Windows its folder is private. */
function assertPrivate(path: string): void {
  if (process.platform === 'win32') return
  const others = statSync(path).mode & 0o077
  if (others === 0) return
  throw new Failure('invalid', `other users of this machine can open ${path}, which holds the tokens of your sessions`, {
    code: 'contexts_not_private',
    hint: `chmod 600 ${path}, and if others use this machine: authctl logout --all, then authctl login`,
  })
}

function parseContexts(content: string, path: string): ContextFile {
  const unreadable = () =>
    new Failure('invalid', `${path} is not a valid file of contexts`, {
      code: 'contexts_unreadable',
      hint: 'fix it, or delete it and sign in again',
    })
  let parsed: Partial<ContextFile> | null
  try {
    parsed = JSON.parse(content)
  } catch {
    throw unreadable()
  }
  const contexts = parsed?.contexts
  if (typeof contexts !== 'object' || contexts === null) throw unreadable()
  for (const context of Object.values(contexts)) if (typeof context?.base_url !== 'string') throw unreadable()
  return { version: 1, current: parsed?.current ?? null, contexts }
}

async function takeLock(folder: string): Promise<() => void> {
  const lock = join(folder, 'contexts.lock')
  const mine = `${process.pid} ${crypto.randomUUID()}`
  const deadline = Date.now() + patienceMs
  for (;;) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      writeFileSync(lock, mine, { flag: 'wx', mode: 0o600 })
      return () => {
        if (readOrEmpty(lock) === mine) rmSync(lock, { force: true })
      }
    } catch (error) {
      if (systemCodeOf(error) !== 'EEXIST' || !existsSync(folder)) {
        throw new Failure('invalid', `cannot write to ${folder}: ${messageOf(error)}`, { code: 'contexts_unwritable' })
      }
    }
    if (isAbandoned(lock)) dropAbandoned(lock)
    else if (Date.now() > deadline) {
      throw new Failure('conflict', `another authctl is changing the contexts (${lock})`, {
        code: 'contexts_locked',
        hint: 'if no other authctl is running, delete that file',
      })
    } else await sleep(pollMs)
  }
}

function isAbandoned(lock: string): boolean {
  const content = readOrEmpty(lock)
  const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
  if (age > abandonedMs) return true
  // An empty lock file is being written at this moment.
  return content !== '' && !isAlive(Number(content.split(' ')[0]))
}

/** Removes an abandoned lock. Puts it back if another process took it meanwhile. */
function dropAbandoned(lock: string): void {
  const judged = readOrEmpty(lock)
  const aside = `${lock}.${crypto.randomUUID().slice(0, 8)}`
  try {
    renameSync(lock, aside)
  } catch {
    return
  }
  const taken = readOrEmpty(aside)
  if (taken !== judged) writeFileSync(lock, taken, { mode: 0o600 })
  rmSync(aside, { force: true })
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return systemCodeOf(error) === 'EPERM'
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
