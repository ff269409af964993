// A real PgBouncer in transaction mode in front of the tests' Postgres: an installed one, or, on Debian, one that is fetched.
import { spawn } from 'node:child_process'
import { chownSync, cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { librariesIn, unpackFromDebian } from './debian-packages.ts'
import { freePort } from './free-port.ts'

/** The user id of `nobody`. Like Postgres, PgBouncer refuses to run as root. */
const NOBODY = 65534
const startTimeoutMs = 60_000

interface Program {
  path: string
  libraries: string[]
}

export interface PgBouncer {
  /** The URL of the same database through PgBouncer. */
  urlOf(databaseUrl: string): string
  stop(): Promise<void>
}

/** Throws a one-line error that says how to get one if none is installed and none can be fetched. */
async function providePgBouncer(): Promise<Program> {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin']
  const installed = folders.map((folder) => join(folder, 'pgbouncer')).find((path) => existsSync(path))
  if (installed !== undefined) return { path: installed, libraries: [] }
  const unpacked = await unpackFromDebian('pgbouncer', ['pgbouncer'], '1 MB').catch((error: Error) => {
    throw new Error(`${error.message}: install PgBouncer`)
  })
  return { path: join(unpacked, 'usr', 'sbin', 'pgbouncer'), libraries: librariesIn(unpacked) }
}

/** Starts a PgBouncer in front of the server of `adminUrl`, with `connections` connections to each of its databases. */
export async function startPgBouncer(adminUrl: string, { connections }: { connections: number }): Promise<PgBouncer> {
  const program = await providePgBouncer()
  const target = new URL(adminUrl)
  const host = target.searchParams.get('host') ?? target.hostname
  const user = decodeURIComponent(target.username)
  const password = target.password === '' ? '' : ` password=${decodeURIComponent(target.password)}`
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-pgbouncer-'))
  const settings = join(folder, 'pgbouncer.ini')
  writeFileSync(
    settings,
    [
      '[databases]',
      `* = host=${host} port=${target.port || 5432} user=${user}${password}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      'pool_mode = transaction',
      `default_pool_size = ${connections}`,
      'max_client_conn = 1000',
      '',
    ].join('\n'),
  )
  const asRoot = process.getuid?.() === 0
  // The account `nobody` may be unable to read a checkout in a home directory.
  const { path, libraries } = asRoot ? copyTo(folder, program) : program
  if (asRoot) chownSync(folder, NOBODY, NOBODY)
  const child = spawn(path, [settings], {
    ...(asRoot ? { uid: NOBODY, gid: NOBODY } : {}),
    cwd: folder,
    env: { LD_LIBRARY_PATH: libraries.join(delimiter) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const stop = async () => {
    kill()
    await ended
    process.off('exit', kill)
    rmSync(folder, { recursive: true, force: true })
  }
  const givenUpAt = Date.now() + startTimeoutMs
  while (!(await answers(port))) {
    if (child.exitCode === null && Date.now() < givenUpAt) {
      await sleep(20)
      continue
    }
    await stop()
    throw new Error(`PgBouncer did not start:\n${said}`)
  }
  return {
    urlOf(databaseUrl) {
      const url = new URL(databaseUrl)
      url.searchParams.delete('host')
      url.hostname = '127.0.0.1'
      url.port = String(port)
      return url.href
    },
    stop,
  }
}

function copyTo(folder: string, { path, libraries }: Program): Program {
  if (libraries.length === 0) return { path, libraries }
  const copied = join(folder, 'program')
  // Copy links verbatim: rewritten, they would lead back to the checkout.
  for (const library of libraries) cpSync(library, copied, { recursive: true, verbatimSymlinks: true })
  cpSync(path, join(copied, 'pgbouncer'))
  return { path: join(copied, 'pgbouncer'), libraries: [copied] }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
