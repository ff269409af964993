// Two Postgres servers with streaming replication under Patroni, which asks etcd who is the primary, and HAProxy in front of
// them. All of them come from Debian packages, unpacked for the tests.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { askPostgres } from './ask-postgres.ts'
import { callHttp } from './client.ts'
import { librariesIn, unpackFromDebian } from './debian-packages.ts'
import { freePort } from './free-port.ts'
import { makeFastFolder } from './postgres.ts'
import { startTcpLink, type TcpLink } from './tcp-link.ts'

/** Postgres refuses to run as root, and Patroni starts it. */
const NOBODY = 65534
const startTimeoutMs = 90_000

export interface PatroniNode {
  name: string
  /** Leads directly to its Postgres. */
  url: string
  /** Ends it as a power cut does: Patroni, Postgres and all its processes at once. */
  kill(): void
  start(): void
  /** Whether it is cut off from etcd and from the other node. Servers still reach it. */
  partition(isPartitioned: boolean): void
  /** Whether what it commits no longer reaches the other node. */
  holdReplication(isHeld: boolean): void
}

export interface PatroniCluster {
  nodes: readonly [PatroniNode, PatroniNode]
  /** Names both hosts. */
  url: string
  /** Leads to the primary, through HAProxy. */
  balancedUrl: string
  /** Waits until the standby replicates what the primary writes, synchronously if the cluster is synchronous. */
  healthy(): Promise<{ primary: PatroniNode; standby: PatroniNode }>
  isPrimary(node: PatroniNode): Promise<boolean>
  /** Resolves when the node is the primary. */
  promotion(node: PatroniNode): Promise<void>
  stop(): Promise<void>
}

interface Programs {
  root: string
  /** The folder of the Postgres programs. */
  binaries: string
  env: Record<string, string>
  ids: { uid?: number; gid?: number }
}

/** Throws a one-line error if the packages are missing and cannot be fetched. */
export async function providePatroni(): Promise<string> {
  return unpackFromDebian('patroni', ['patroni', 'etcd-server', 'haproxy', 'postgresql-15'], '30 MB')
}

/** Polls until the condition holds. Throws, with the logs, if that takes longer than `startTimeoutMs`. */
async function until(holds: () => Promise<boolean>, what: string, logs: () => string): Promise<void> {
  const givenUpAt = Date.now() + startTimeoutMs
  while (!(await holds().catch(() => false))) {
    if (Date.now() > givenUpAt) throw new Error(`${what}: not after ${startTimeoutMs / 1000} s\n${logs()}`)
    await sleep(20)
  }
}

function prepare(unpacked: string, folder: string): Programs {
  const asRoot = process.getuid?.() === 0
  const ids = asRoot ? { uid: NOBODY, gid: NOBODY } : {}
  const isReadable = !asRoot || spawnSync(join(unpacked, 'usr/bin/etcd'), ['--version'], { ...ids, cwd: '/' }).status === 0
  const root = isReadable ? unpacked : copyPrograms(unpacked)
  if (asRoot) chownSync(folder, NOBODY, NOBODY)
  const inPackage = join(root, 'usr/lib/postgresql/15/bin')
  return {
    root,
    binaries: existsSync(join(inPackage, 'postgres')) ? inPackage : '/usr/lib/postgresql/15/bin',
    ids,
    env: {
      PATH: process.env.PATH ?? '',
      LANG: 'C.UTF-8',
      LD_LIBRARY_PATH: librariesIn(root).join(delimiter),
      PYTHONPATH: join(root, 'usr/lib/python3/dist-packages'),
      PYTHONDONTWRITEBYTECODE: '1',
    },
  }
}

/** Copies the programs, because the account `nobody` may be unable to read a checkout in a home directory. */
function copyPrograms(unpacked: string): string {
  const copied = mkdtempSync(join(realpathSync(tmpdir()), 'gatehouse-patroni-'))
  cpSync(unpacked, copied, { recursive: true, verbatimSymlinks: true })
  spawnSync('chmod', ['-R', 'a+rX', copied])
  process.once('exit', () => spawnSync('rm', ['-rf', copied]))
  return copied
}

export async function startPatroni({ isSynchronous = true } = {}): Promise<PatroniCluster> {
  const unpacked = await providePatroni()
  const folder = makeFastFolder('gatehouse-patroni-')
  const programs = prepare(unpacked, folder)
  const watcher = watchOver(folder)
  const links: TcpLink[] = []
  const link = async (target: number) => {
    const made = await startTcpLink(target)
    links.push(made)
    return made
  }
  const logs = () =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.log'))
      .map((name) => `--- ${name}\n${readFileSync(join(folder, name), 'utf8').split('\n').slice(-30).join('\n')}`)
      .join('\n')
  /** The output of a program goes to a file, since a program could hang if it writes to a pipe that nothing reads. */
  const start = (name: string, command: string, words: string[]): ChildProcess => {
    const line = ['-c', 'log=$1; shift; exec "$@" >>"$log" 2>&1 </dev/null', 'sh', join(folder, `${name}.log`), command, ...words]
    const child = spawn('sh', line, { ...programs.ids, cwd: folder, env: programs.env, detached: true, stdio: 'ignore' })
    child.unref()
    writeFileSync(join(folder, `${name}.pid`), String(child.pid))
    return child
  }
  const stop = async () => {
    const gone = new Promise<void>((resolve) => watcher.once('close', () => resolve()))
    watcher.stdin?.end()
    await gone
    for (const each of links) each.close()
  }
  try {
    const etcdPort = await startEtcd(start, folder, programs)
    const nodes = await Promise.all([
      buildNode('a', { etcdPort, isSynchronous, folder, programs, start, link }),
      buildNode('b', { etcdPort, isSynchronous, folder, programs, start, link }),
    ])
    const [a, b] = nodes
    const isPrimary = async ({ url }: PatroniNode) =>
      (await askPostgres(url, 'select pg_is_in_recovery()').catch(() => undefined)) === 'false'
    a.start()
    await until(() => isPrimary(a), 'the first node is the primary', logs)
    b.start()
    const balancerPort = await startHaproxy(start, folder, programs, nodes)
    const replicating = `select count(*) from pg_stat_replication where state = 'streaming'${isSynchronous ? " and sync_state = 'sync'" : ''}`
    /** Whether Patroni would let this node take over. */
    const isCandidate = async ({ restPort }: BuiltNode) =>
      (await callHttp(`http://127.0.0.1:${restPort}/${isSynchronous ? 'synchronous' : 'replica'}`, 'GET')).status === 200
    const cluster: PatroniCluster = {
      nodes: [a, b],
      url: `postgres://postgres@127.0.0.1:${a.port},127.0.0.1:${b.port}/postgres`,
      balancedUrl: `postgres://postgres@127.0.0.1:${balancerPort}/postgres`,
      isPrimary,
      promotion: (node) => until(() => isPrimary(node), `${node.name} is the primary`, logs),
      stop,
      async healthy() {
        let [primary, standby] = [a, b]
        const look = async () => {
          if (!(await isPrimary(primary))) [primary, standby] = [standby, primary]
          const isReplicating = (await askPostgres(primary.url, replicating)) === '1'
          return isReplicating && (await isPrimary(primary)) && (await isCandidate(standby))
        }
        await until(look, 'a primary and its standby', logs)
        return { primary, standby }
      },
    }
    await cluster.healthy()
    await until(async () => (await askPostgres(cluster.balancedUrl, 'select 1')) === '1', 'HAProxy leads to the primary', logs)
    return cluster
  } catch (error) {
    await stop()
    throw error
  }
}

/**
 * Starts a shell that kills all processes and removes the folder once its stdin is closed: by `stop`,
 * or when this process ends, even by SIGKILL.
 */
function watchOver(folder: string): ChildProcess {
  const script = `cat >/dev/null
cd "$1" && for file in *.pid */data/postmaster.pid; do [ -e "$file" ] && kill -9 "$(head -n 1 "$file")" 2>/dev/null; done
sleep 0.2; cd /; rm -rf "$1"; sleep 0.5; rm -rf "$1"`
  const watcher = spawn('sh', ['-c', script, 'sh', folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  watcher.unref()
  ;(watcher.stdin as unknown as { unref(): void }).unref()
  return watcher
}

type Start = (name: string, command: string, words: string[]) => ChildProcess

async function startEtcd(start: Start, folder: string, { root }: Programs): Promise<number> {
  const [port, peerPort] = [await freePort(), await freePort()]
  const client = `http://127.0.0.1:${port}`
  const peer = `http://127.0.0.1:${peerPort}`
  const words = [
    ['--data-dir', join(folder, 'etcd')],
    ['--listen-client-urls', client],
    ['--advertise-client-urls', client],
    ['--listen-peer-urls', peer],
    ['--initial-advertise-peer-urls', peer],
    ['--initial-cluster', `default=${peer}`],
  ].flat()
  start('etcd', join(root, 'usr/bin/etcd'), words)
  return port
}

interface Surroundings {
  etcdPort: number
  isSynchronous: boolean
  folder: string
  programs: Programs
  start: Start
  link(target: number): Promise<TcpLink>
}

type BuiltNode = PatroniNode & { port: number; restPort: number }

async function buildNode(
  name: string,
  { etcdPort, isSynchronous, folder, programs, start, link }: Surroundings,
): Promise<BuiltNode> {
  const [port, restPort] = [await freePort(), await freePort()]
  const home = join(folder, name)
  mkdirSync(home)
  if (programs.ids.uid !== undefined) chownSync(home, NOBODY, NOBODY)
  const toEtcd = await link(etcdPort)
  const [toPostgres, toRest] = [await link(port), await link(restPort)]
  const settings = {
    scope: 'gatehouse',
    name,
    restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${toRest.port}` },
    // Set as a proxy. Otherwise Patroni would ask etcd for its addresses and bypass the link.
    etcd3: { proxy: `http://127.0.0.1:${toEtcd.port}` },
    bootstrap: {
      dcs: {
        // In seconds. With a lease of 30, every round of a test would take a minute.
        ttl: 5,
        loop_wait: 1,
        retry_timeout: 2,
        synchronous_mode: isSynchronous,
        postgresql: { use_pg_rewind: true, parameters: { max_connections: 100, wal_log_hints: 'on', wal_keep_size: '128MB' } },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, { auth: 'trust' }, 'no-sync'],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${toPostgres.port}`,
      data_dir: join(home, 'data'),
      bin_dir: programs.binaries,
      pgpass: join(home, 'pgpass'),
      use_unix_socket: true,
      authentication: {
        superuser: { username: 'postgres', password: 'unused' },
        replication: { username: 'postgres', password: 'unused' },
        rewind: { username: 'postgres', password: 'unused' },
      },
      parameters: { unix_socket_directories: home, fsync: 'off', wal_retrieve_retry_interval: '200ms' },
      pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
    },
  }
  // JSON is valid YAML.
  const file = join(home, 'patroni.yml')
  writeFileSync(file, JSON.stringify(settings))
  let patroni: ChildProcess | undefined
  return {
    name,
    port,
    restPort,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    start() {
      patroni = start(name, 'python3', ['-m', 'patroni', file])
    },
    kill() {
      const postmaster = Number(readFileSync(join(home, 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
      for (const pid of [patroni!.pid!, postmaster, ...childrenOf(postmaster), ...childrenOf(patroni!.pid!)]) killIfThere(pid)
    },
    partition(isPartitioned) {
      for (const each of [toEtcd, toPostgres, toRest]) each.interrupt(isPartitioned)
    },
    holdReplication: (isHeld) => toPostgres.interrupt(isHeld),
  }
}

function childrenOf(parent: number): number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return all.map(Number).filter((pid) => {
    try {
      return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) === parent
    } catch {
      // It has ended in the meantime.
      return false
    }
  })
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has already ended.
  }
}

async function startHaproxy(start: Start, folder: string, { root }: Programs, nodes: readonly BuiltNode[]): Promise<number> {
  const port = await freePort()
  const file = join(folder, 'haproxy.cfg')
  const servers = nodes.map((node) => `  server ${node.name} 127.0.0.1:${node.port} check port ${node.restPort}`)
  writeFileSync(
    file,
    `defaults
  mode tcp
  timeout connect 500ms
  timeout check 500ms
  timeout client 1h
  timeout server 1h
listen primary
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 300ms fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join('\n')}
`,
  )
  start('haproxy', join(root, 'usr/sbin/haproxy'), ['-f', file])
  return port
}
