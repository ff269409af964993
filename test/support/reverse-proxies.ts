// Real reverse proxies in front of a server, HAProxy and nginx: installed ones, or, on Debian, ones that are fetched. Each gives a
// request an id of its own, tells it to the server in X-Request-Id and to the client in X-Proxy-Id, and logs it.
import { spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { librariesIn, unpackFromDebian } from './debian-packages.ts'
import { readText } from './deployment-files.ts'
import { freePort } from './free-port.ts'
import { selfSigned } from './self-signed.ts'

const startTimeoutMs = 60_000

export interface ReverseProxy {
  /** Where it speaks HTTP/1.1. */
  port: number
  /** Where it speaks HTTP/2, without TLS. */
  http2Port: number
  /** The ids of the requests that it has passed on or answered. */
  ids(): Set<string>
  stop(): Promise<void>
}

interface Ports {
  port: number
  http2Port: number
  server: string
}

interface Kind {
  /** What it logs, one request a line: the id first. */
  configure(folder: string, ports: Ports): string
  words(folder: string, settings: string): string[]
  debianPackages: string[]
}

/** What nginx needs beside its servers, to run in a folder. */
const nginxIn = (folder: string, http: string) => `
daemon off;
worker_processes 1;
${process.getuid?.() === 0 ? 'user root root;' : ''}
pid ${folder}/pid;
error_log stderr crit;
events { worker_connections 512; }
http {
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/temp;`).join('\n  ')}
${http}
}
`

/** Connections to the server are shared by all clients, so that what one client leaves on a connection meets the next one. */
const haproxy: Kind = {
  debianPackages: ['haproxy'],
  words: (_, settings) => ['-db', '-f', settings],
  configure: (_, { port, http2Port, server }) => `
global
  log stdout format raw local0 info
  stats timeout 2s
defaults
  mode http
  log global
  timeout connect 10s
  timeout client 60s
  timeout server 60s
  timeout http-request 60s
  option http-keep-alive
  http-reuse always
frontend clients
  bind 127.0.0.1:${port}
  bind 127.0.0.1:${http2Port} proto h2
  unique-id-format %[uuid()]
  log-format "%ID %HM %HP"
  option forwardfor
  http-request set-header X-Request-Id %[unique-id]
  http-response set-header X-Proxy-Id %[unique-id]
  default_backend service
backend service
  server one ${server}
`,
}

const nginx = (buffering: 'on' | 'off'): Kind => ({
  debianPackages: ['nginx'],
  words: (folder, settings) => ['-p', folder, '-e', 'stderr', '-c', settings],
  configure: (folder, { port, http2Port, server }) =>
    nginxIn(
      folder,
      `
  log_format ids '$request_id $request_method $request_uri';
  access_log /dev/stdout ids;
  upstream service {
    server ${server};
    keepalive 8;
  }
  server {
    listen 127.0.0.1:${port};
    listen 127.0.0.1:${http2Port} http2;
    client_max_body_size 16m;
    location / {
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_request_buffering ${buffering};
      proxy_set_header Connection "";
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Request-Id $request_id;
      add_header X-Proxy-Id $request_id always;
    }
  }`,
    ),
})

const kinds = { HAProxy: haproxy, nginx: nginx('on'), 'nginx, unbuffered': nginx('off') }
export type ProxyKind = keyof typeof kinds
export const proxyKinds = Object.keys(kinds) as ProxyKind[]

/**
 * Starts the proxy of docs/operate/deploying.md in front of two servers. Only addresses and the certificate differ, and it takes requests
 * without TLS too.
 */
export function startDocumentedProxy(kind: 'HAProxy' | 'nginx', servers: readonly string[]): Promise<ReverseProxy> {
  const language = kind.toLowerCase()
  const [, block] = new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(readText('docs/operate/deploying.md'))!
  const configure: Kind['configure'] = (folder, { port, http2Port }) => {
    const certificate = join(folder, 'certificate.pem')
    writeFileSync(certificate, `${selfSigned.cert}\n${selfSigned.key}\n`)
    const text = block!
      .replaceAll(/\/etc\/\w+\/login\.example\.com\.\w+/g, certificate)
      .replaceAll(/10\.0\.0\.([12]):4000/g, (_, number) => new URL(servers[number - 1]!).host)
      .replace(/^( *)listen 443 (.*)$/m, `$1listen 127.0.0.1:${http2Port} $2\n$1listen 127.0.0.1:${port};`)
      .replace(/^( *)bind :443 (.*)$/m, `$1bind 127.0.0.1:${http2Port} $2\n$1bind 127.0.0.1:${port}`)
    return kind === 'nginx' ? nginxIn(folder, `access_log off;\n${text}`) : `${text}\n`
  }
  return start(kind, { ...kinds[kind], configure }, servers[0]!)
}

/** Starts a proxy in front of a server. Throws a one-line error if it is not installed and cannot be fetched. */
export function startReverseProxy(kind: ProxyKind, serverUrl: string): Promise<ReverseProxy> {
  return start(kind, kinds[kind], serverUrl)
}

async function start(name: string, { configure, words, debianPackages }: Kind, serverUrl: string): Promise<ReverseProxy> {
  const program = await provide(debianPackages[0]!, debianPackages)
  const [port, http2Port] = [await freePort(), await freePort()]
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-proxy-'))
  mkdirSync(join(folder, 'temp'))
  const settings = join(folder, 'settings')
  writeFileSync(settings, configure(folder, { port, http2Port, server: new URL(serverUrl).host }))
  const log = join(folder, 'log')
  // A file, because nginx opens /dev/stdout by name, which a pipe of Node does not allow.
  const stdout = openSync(log, 'a')
  const child = spawn(program.path, words(folder, settings), {
    env: { LD_LIBRARY_PATH: program.libraries.join(delimiter) },
    stdio: ['ignore', stdout, 'pipe'],
  })
  closeSync(stdout)
  let said = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const end = () => void child.kill('SIGTERM')
  process.once('exit', end)
  const stop = async () => {
    end()
    await ended
    process.off('exit', end)
    rmSync(folder, { recursive: true, force: true })
  }
  const givenUpAt = Date.now() + startTimeoutMs
  while (!(await answers(port))) {
    if (child.exitCode === null && Date.now() < givenUpAt) {
      await sleep(20)
      continue
    }
    await stop()
    throw new Error(`${name} did not start: ${said.trim().split('\n').at(-1)}`)
  }
  return {
    port,
    http2Port,
    ids: () =>
      new Set(
        readFileSync(log, 'utf8')
          .split('\n')
          .map((line) => line.split(' ')[0]!),
      ),
    stop,
  }
}

async function provide(name: string, packages: string[]): Promise<{ path: string; libraries: string[] }> {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin']
  const installed = folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
  if (installed !== undefined) return { path: installed, libraries: [] }
  const unpacked = await unpackFromDebian(name, packages, '2 MB').catch((error: Error) => {
    throw new Error(`${error.message}: install ${name}`)
  })
  return { path: join(unpacked, 'usr', 'sbin', name), libraries: librariesIn(unpacked) }
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
