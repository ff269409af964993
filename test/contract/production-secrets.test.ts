// What production refuses to start with, as operators see it: `gatehouse check` and `gatehouse serve` apply the same rules.
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { productionSettings } from '../support/app-fixtures.ts'
import { testDatabase } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { runGatehouse, startServer } from '../support/server-process.ts'

const { JWT_ACCESS_SECRET: secret, AUTH_ENCRYPTION_KEY: key, ...others } = productionSettings

async function production(): Promise<Record<string, string>> {
  const database = await createDatabase(testDatabase(), inject('templates'))
  onTestFinished(() => database.drop())
  return { ...productionSettings, DATABASE_URL: database.url }
}

function someFile(content: string | Buffer, mode = 0o600, folderMode = 0o700): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-secret-'))
  chmodSync(folder, folderMode)
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'secret')
  writeFileSync(path, content)
  chmodSync(path, mode)
  return path
}

/** The variables that the lines name. */
const named = (stderr: string) => [...stderr.matchAll(/^gatehouse: (?!warning)([A-Z_]+)/gm)].map(([, name]) => name).sort()
const warned = (stderr: string) => [...stderr.matchAll(/^gatehouse: warning: ([A-Z_]+)/gm)].map(([, name]) => name).sort()

describe('secrets in production', () => {
  test.each<[string, Record<string, string>, string[]]>([
    [
      'a signing secret of words that are easily guessed',
      { JWT_ACCESS_SECRET: 'supersecretsupersecretsupersecret' },
      ['JWT_ACCESS_SECRET'],
    ],
    ['a keyboard row', { JWT_ACCESS_SECRET: 'qwertyuiopasdfghjklzxcvbnmqwertyuiop' }, ['JWT_ACCESS_SECRET']],
    ['a repeated pattern', { JWT_ACCESS_SECRET: 'abcdefghij'.repeat(300) }, ['JWT_ACCESS_SECRET']],
    ['a signing secret with a blank at its end', { JWT_ACCESS_SECRET: `${secret} ` }, ['JWT_ACCESS_SECRET']],
    ['an encryption key of zeros', { AUTH_ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') }, ['AUTH_ENCRYPTION_KEY']],
    [
      'the signing secret as encryption key',
      { AUTH_ENCRYPTION_KEY: Buffer.from(secret).toString('base64') },
      ['AUTH_ENCRYPTION_KEY'],
    ],
    ['a database that is not named', { DATABASE_URL: '' }, ['DATABASE_URL']],
  ])('production refuses %s, and does not show the value', async (_, settings, names) => {
    const { code, stdout, stderr } = await runGatehouse(['check'], { ...(await production()), ...settings })
    expect([code, stdout, named(stderr)]).toEqual([1, '', names])
    for (const value of Object.values(settings)) if (value !== '') expect(stderr).not.toContain(value.trim())
  })

  test('production starts with a guessable secret if AUTH_ALLOW_WEAK_SECRET is set, or during its replacement', async () => {
    const weak = 'supersecretsupersecretsupersecret'
    const settings = await production()
    const allowed = await runGatehouse(['check'], { ...settings, JWT_ACCESS_SECRET: weak, AUTH_ALLOW_WEAK_SECRET: 'true' })
    expect([allowed.code, warned(allowed.stderr)]).toEqual([0, ['JWT_ACCESS_SECRET']])
    const replaced = await runGatehouse(['check'], { ...settings, JWT_ACCESS_SECRET_PREVIOUS: weak })
    expect([replaced.code, replaced.stderr]).toEqual([0, ''])
  })

  test('production warns about a sender at localhost and an untrusted proxy, in `check` and at the start', async () => {
    const settings = { ...(await production()), MAIL_FROM: '', AUTH_TRUST_PROXY: '' }
    const { code, stderr } = await runGatehouse(['check'], settings)
    expect([code, warned(stderr)]).toEqual([0, ['AUTH_TRUST_PROXY', 'MAIL_FROM']])
    const server = await startServer(settings)
    const warnings = server.lines().flatMap((line) => /"level":"warn".*"msg":"([A-Z_]+) /.exec(line)?.[1] ?? [])
    expect(warnings.sort()).toEqual(['AUTH_AUDIT_RETENTION_DAYS', 'AUTH_TRUST_PROXY', 'MAIL_FROM'])
    await server.stop()
  })

  test('production warns at the start that the audit is kept for ever, with its size, unless that is set', async () => {
    const settings = await production()
    const warned = async (said: Record<string, string>) => {
      const server = await startServer({ ...settings, ...said })
      await server.stop()
      return server.lines().filter((line) => line.includes('audit events are kept for ever'))
    }
    expect(await warned({})).toEqual([expect.stringMatching(/they take \d+ MB now; set it/)])
    expect(await warned({ AUTH_AUDIT_RETENTION_DAYS: 'forever' })).toEqual([])
    expect(await warned({ AUTH_AUDIT_RETENTION_DAYS: '365' })).toEqual([])
  })

  test('production warns about a PUBLIC_URL with a path, which turns the sign-in page off', async () => {
    const settings = { ...(await production()), PUBLIC_URL: 'https://example.com/login' }
    const { code, stderr } = await runGatehouse(['check'], settings)
    expect([code, warned(stderr)]).toEqual([0, ['PUBLIC_URL']])
    const server = await startServer(settings)
    expect(server.lines().filter((line) => /"level":"warn".*the sign-in page is off/.test(line))).toHaveLength(1)
    await server.stop()
  })

  test('production warns about http, and about unknown variables with the name that was probably meant', async () => {
    const doubtful = {
      PUBLIC_URL: 'http://login.example.com',
      AUTH_RATELIMIT_IP: '5/60',
      JWT_ACESS_SECRET: secret,
      DB_POOLMAX: '3',
    }
    const settings = { ...(await production()), ...doubtful }
    const { code, stderr } = await runGatehouse(['check'], settings)
    expect([code, warned(stderr)]).toEqual([0, ['AUTH_RATELIMIT_IP', 'DB_POOLMAX', 'JWT_ACESS_SECRET', 'PUBLIC_URL']])
    for (const nearest of ['AUTH_RATE_LIMIT_IP', 'JWT_ACCESS_SECRET', 'DB_POOL_MAX'])
      expect(stderr).toMatch(new RegExp(` ${nearest}\n`))
    expect(stderr).not.toContain(secret)

    // A mistyped name may be the reason why a variable is missing.
    const missing = await runGatehouse(['serve'], { ...settings, JWT_ACCESS_SECRET: '' })
    expect([missing.code, named(missing.stderr)]).toEqual([1, ['JWT_ACCESS_SECRET']])
    expect(warned(missing.stderr)).toContain('JWT_ACESS_SECRET')

    const server = await startServer(settings)
    const warnings = server.lines().filter((line) => line.includes('"level":"warn"'))
    expect(warnings.filter((line) => /DB_POOLMAX .*DB_POOL_MAX"/.test(line))).toHaveLength(1)
    await server.stop()
  })
})

describe('a secret in a file', () => {
  test('a secret is read without its last line break, and a file that others can read gives a warning', async () => {
    const files = {
      JWT_ACCESS_SECRET_FILE: someFile(`${secret}\n`),
      AUTH_ENCRYPTION_KEY_FILE: someFile(`${key}\r\n`, 0o644, 0o755),
      DATABASE_URL_FILE: someFile((await production()).DATABASE_URL!),
    }
    const unset = { JWT_ACCESS_SECRET: '', AUTH_ENCRYPTION_KEY: '' }
    const { code, stdout, stderr } = await runGatehouse(['check'], { ...others, ...unset, ...files })
    expect([code, stdout, warned(stderr)]).toEqual([0, expect.stringContaining('database: ok'), ['AUTH_ENCRYPTION_KEY_FILE']])
  })

  test('a readable file in a private folder gives no warning, also by a symbolic link', async () => {
    const path = someFile('the token of a scraper', 0o444)
    const settings = { ...(await production()), AUTH_METRICS_TOKEN_FILE: path }
    expect(await runGatehouse(['check'], settings)).toMatchObject({ code: 0, stderr: '' })
    const link = join(mkdtempSync(join(tmpdir(), 'gatehouse-link-')), 'token')
    onTestFinished(() => rm(dirname(link), { recursive: true, force: true }))
    symlinkSync(path, link)
    chmodSync(dirname(path), 0o711)
    const linked = await runGatehouse(['check'], { ...settings, AUTH_METRICS_TOKEN_FILE: link })
    expect([linked.code, warned(linked.stderr)]).toEqual([0, ['AUTH_METRICS_TOKEN_FILE']])
  })

  test.runIf(testDatabase() === 'sqlite')(
    'the secrets of deploy/make-secrets.sh give no warning, in their folder or as Compose mounts them',
    async ({ skip }) => {
      const { DATABASE_URL, ...settings } = await production()
      const folder = mkdtempSync(join(tmpdir(), 'gatehouse-secrets-'))
      chmodSync(folder, 0o755)
      onTestFinished(() => rm(folder, { recursive: true, force: true }))
      const script = fileURLToPath(new URL('../../deploy/make-secrets.sh', import.meta.url))
      const env = { PATH: process.env.PATH!, DATABASE_URL: DATABASE_URL!, SMTP_URL: 'smtps://user:password@smtp.example.com' }
      const names = execFileSync(script, [join(folder, 'secrets')], { encoding: 'utf8', env }).match(/(?<=made ).*/g)!
      const files = (where: string): Record<string, string> => ({
        ...settings,
        ...Object.fromEntries(['JWT_ACCESS_SECRET', 'AUTH_ENCRYPTION_KEY', 'SMTP_URL'].map((name) => [name, ''])),
        DATABASE_URL_FILE: join(where, 'database-url'),
        JWT_ACCESS_SECRET_FILE: join(where, 'jwt-access-secret'),
        AUTH_ENCRYPTION_KEY_FILE: join(where, 'encryption-key'),
        AUTH_METRICS_TOKEN_FILE: join(where, 'metrics-token'),
        SMTP_URL_FILE: join(where, 'smtp-url'),
      })
      expect(await runGatehouse(['check'], files(join(folder, 'secrets')))).toMatchObject({ code: 0, stderr: '' })

      // Compose mounts each file on its own, into a folder of the image that lets everybody through.
      const mounted = join(folder, 'mounted')
      mkdirSync(mounted)
      const lines = names.map((name) => `touch ${mounted}/${name} && mount --bind ${folder}/secrets/${name} ${mounted}/${name}`)
      const namespace = ['unshare', '--map-root-user', '--mount', 'sh', '-c']
      const mount = `mount -t tmpfs tmpfs ${mounted}`
      if (spawnSync(namespace[0]!, [...namespace.slice(1), mount]).status !== 0) skip('nothing can be mounted here')
      const within = [...namespace, `${[mount, ...lines].join(' && ')} && exec "$@"`, 'sh']
      expect(await runGatehouse(['check'], files(mounted), '', within)).toMatchObject({ code: 0, stderr: '' })
      const plain = [...namespace, `${mount} && cp ${folder}/secrets/* ${mounted} && exec "$@"`, 'sh']
      expect(warned((await runGatehouse(['check'], files(mounted), '', plain)).stderr)).toHaveLength(5)
    },
  )

  test('a file beside its variable is refused, and so is one that is not a regular file of up to 64 KiB', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-secret-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const { code, stdout, stderr } = await runGatehouse(['check'], {
      ...(await production()),
      JWT_ACCESS_SECRET_FILE: someFile(secret),
      JWT_ACCESS_SECRET_PREVIOUS_FILE: '/dev/null',
      AUTH_ENCRYPTION_KEY_PREVIOUS_FILE: folder,
      AUTH_METRICS_TOKEN_FILE: someFile('x'.repeat(65_537)),
      AUTH_BOOTSTRAP_ADMIN_EMAIL: 'root@example.com',
      AUTH_BOOTSTRAP_ADMIN_PASSWORD_FILE: join(folder, 'a password in the wrong place'),
    })
    expect([code, stdout]).toEqual([1, ''])
    expect(named(stderr)).toEqual([
      'AUTH_BOOTSTRAP_ADMIN_PASSWORD_FILE',
      'AUTH_ENCRYPTION_KEY_PREVIOUS_FILE',
      'AUTH_METRICS_TOKEN_FILE',
      'JWT_ACCESS_SECRET',
      'JWT_ACCESS_SECRET_PREVIOUS_FILE',
    ])
    expect(stderr).not.toContain('wrong place')
  })
})
