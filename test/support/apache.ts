// A stock Apache with mod_auth_openidc, from Debian packages that are unpacked for the tests.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { librariesIn, unpackFromDebian } from './debian-packages.ts'

/** Throws a one-line error if the packages are missing and cannot be fetched. */
export async function provideApache(): Promise<string> {
  return unpackFromDebian('apache', ['apache2-bin', 'libapache2-mod-auth-openidc'], '8 MB')
}

/** Enough for any site. The configuration of the folder to protect comes after it. */
const modules = [
  ...['mpm_event', 'unixd', 'authz_core', 'authn_core', 'authz_user', 'auth_openidc', 'mime', 'dir', 'alias', 'headers', 'env'],
]

/**
 * Starts Apache at a port with this configuration. The folder `/private/` has a page that says as whom the visitor came in; the rest
 * is public.
 */
export async function startApache(port: number, configuration: string, onEnd: (fn: () => Promise<void>) => void): Promise<void> {
  const root = await provideApache()
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-apache-'))
  mkdirSync(join(folder, 'site/private'), { recursive: true })
  writeFileSync(join(folder, 'site/index.html'), 'public')
  writeFileSync(join(folder, 'site/private/index.html'), 'private')
  writeFileSync(join(folder, 'mime.types'), 'text/html html\n')
  const moduleFolder = join(root, 'usr/lib/apache2/modules')
  const built = (name: string) => existsSync(join(moduleFolder, `mod_${name}.so`))
  const lines = [
    `ServerRoot ${folder}`,
    `ServerName localhost`,
    `Listen 127.0.0.1:${port}`,
    `PidFile ${folder}/apache.pid`,
    `ErrorLog ${folder}/error.log`,
    'LogLevel warn auth_openidc:info',
    ...modules.filter(built).map((name) => `LoadModule ${name}_module ${moduleFolder}/mod_${name}.so`),
    ...(process.getuid?.() === 0 ? ['User #65534', 'Group #65534'] : []),
    `TypesConfig ${folder}/mime.types`,
    `DocumentRoot ${folder}/site`,
    `<Directory ${folder}/site>`,
    'Require all granted',
    '</Directory>',
    'DirectoryIndex index.html',
    // Tells the tests as whom somebody came in.
    'Header always set X-Remote-User "expr=%{REMOTE_USER}"',
    'KeepAlive Off',
    configuration,
  ]
  writeFileSync(join(folder, 'apache.conf'), `${lines.join('\n')}\n`)
  await chmodAll(folder)
  const libraries = [...librariesIn(root), join(root, 'usr/lib/x86_64-linux-gnu')]
  const program = join(root, 'usr/sbin/apache2')
  const child = spawn(program, ['-X', '-f', join(folder, 'apache.conf')], {
    env: { PATH: process.env.PATH ?? '', LD_LIBRARY_PATH: libraries.join(delimiter) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (text: Buffer) => {
    said += text
  })
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()))
  onEnd(async () => {
    child.kill('SIGTERM')
    await gone
    rmSync(folder, { recursive: true, force: true })
  })
  const log = () => `${said}\n${existsSync(join(folder, 'error.log')) ? readFileSync(join(folder, 'error.log'), 'utf8') : ''}`
  for (let tries = 0; ; tries += 1) {
    const reply = await fetch(`http://localhost:${port}/`).catch(() => undefined)
    if (reply) return
    if (child.exitCode !== null || tries > 600) throw new Error(`Apache does not start\n${log()}`)
    await sleep(50)
  }
}

async function chmodAll(folder: string): Promise<void> {
  await new Promise((resolve) => spawn('chmod', ['-R', 'a+rwX', folder]).once('close', resolve))
}
