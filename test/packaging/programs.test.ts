// The server and authctl as they are deployed: packed, with the npm packages that they depend on and nothing from the workspace.
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createTestAuth } from '@gatehouse/sdk/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { npmPack, type PackageName, packageFolder, unpack } from '../support/npm-pack.ts'
import { startNpmRegistry } from '../support/npm-registry.ts'

const { env, token, close } = createTestAuth({ appCode: 'notes' })
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-programs-'))
  for (const name of ['server', 'cli'] as const) install(name)
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  return close()
})

function install(name: PackageName): void {
  const target = join(folder, name)
  unpack(npmPack(name, folder), target)
  const { dependencies } = JSON.parse(readFileSync(join(target, 'package.json'), 'utf8'))
  for (const dependency of Object.keys(dependencies)) {
    const link = join(target, 'node_modules', dependency)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(realpathSync(join(packageFolder(name), 'node_modules', dependency)), link)
  }
}

function run(program: string[], input = '', variables: Record<string, string> = {}): string {
  const settings = { PATH: process.env.PATH, HOME: folder, ...variables }
  return execFileSync(process.execPath, program, { cwd: folder, env: settings, input, encoding: 'utf8', timeout: 120_000 })
}

test.each(['server', 'cli'])('the package %s names and imports nothing of the workspace', (name) => {
  const { dependencies } = JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8'))
  expect(Object.keys(dependencies).filter((dependency) => dependency.startsWith('@gatehouse/'))).toEqual([])
  const dist = join(folder, name, 'dist')
  const programs = readdirSync(dist).filter((file) => file.endsWith('.js'))
  expect(programs.filter((file) => /^import .*"@gatehouse\//m.test(readFileSync(join(dist, file), 'utf8')))).toEqual([])
})

test('the server creates its database', () => {
  const variables = { DATABASE_URL: `sqlite:${join(folder, 'packed.db')}`, JWT_ACCESS_SECRET: env.JWT_ACCESS_SECRET }
  expect(run(['server/dist/gatehouse.js', 'migrate'], '', variables)).toContain('applied')
  expect(run(['server/dist/gatehouse.js', 'check'], '', variables)).toContain('settings: ok\ndatabase: ok\n')
})

test('authctl verifies a token by the rules of the SDK', () => {
  const secret = join(folder, 'secret')
  writeFileSync(secret, env.JWT_ACCESS_SECRET)
  const printed = run(['cli/dist/authctl.js', 'token', 'inspect', '-', '--secret-file', secret, '--json'], token())
  expect(JSON.parse(printed)).toMatchObject({ valid: true, claims: { app_code: 'notes' } })
  expect(run(['cli/dist/authctl.js', 'secret', 'new', '--json'])).toMatch(/"kid": ?"[0-9a-f]{8}"/)
})

test('npx runs authctl by the name of its package', () => {
  const project = join(folder, 'project')
  const bin = join(project, 'node_modules', '.bin', 'authctl')
  // Lay out the package as npm installs it.
  mkdirSync(join(project, 'node_modules', '@gatehouse'), { recursive: true })
  mkdirSync(dirname(bin))
  symlinkSync(join(folder, 'cli'), join(project, 'node_modules', '@gatehouse', 'cli'))
  const { bin: programs } = JSON.parse(readFileSync(join(folder, 'cli', 'package.json'), 'utf8'))
  expect(programs).toEqual({ authctl: './dist/authctl.js' })
  symlinkSync(join(folder, 'cli', 'dist', 'authctl.js'), bin)
  chmodSync(bin, 0o755)
  writeFileSync(join(project, 'package.json'), '{"private":true}')
  const settings = { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: folder }
  const printed = execFileSync('npx', ['--no', '@gatehouse/cli', 'secret', 'new', '--json'], {
    cwd: project,
    env: settings,
    encoding: 'utf8',
    timeout: 120_000,
  })
  expect(printed).toMatch(/"kid": ?"[0-9a-f]{8}"/)
})

test('npx @gatehouse/cli runs authctl in an empty folder, from a registry that has its dependencies', async () => {
  const workplace = join(folder, 'registry')
  const { url, close } = await startNpmRegistry(npmPack('cli', workplace), packageFolder('cli'), workplace)
  const home = join(folder, 'home of npx')
  const empty = join(home, 'empty')
  mkdirSync(empty, { recursive: true })
  const npx = async (...words: string[]) => {
    const options = { cwd: empty, env: { PATH: process.env.PATH, HOME: home, npm_config_registry: url }, timeout: 120_000 }
    // Not synchronously, because the registry runs in this process.
    const child = execFile('npx', ['--yes', '@gatehouse/cli', ...words], options)
    const ended = once(child, 'close')
    const [printed, complaints] = await Promise.all([text(child.stdout!), text(child.stderr!)])
    return { printed, complaints, exit: (await ended)[0] }
  }
  try {
    const { version } = JSON.parse(readFileSync(join(folder, 'cli', 'package.json'), 'utf8'))
    expect(await npx('version', '--json')).toMatchObject({ exit: 0, printed: expect.stringContaining(`"version": "${version}"`) })
    const refused = await npx('app', 'list', '--base-url', 'http://127.0.0.1:9', '--json')
    expect([refused.exit, refused.complaints]).toEqual([4, expect.stringContaining('"not_signed_in"')])
  } finally {
    close()
  }
})
