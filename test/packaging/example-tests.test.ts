// Runs the tests of the examples as their readers would: with the packed SDK.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const hasPython = spawnSync('python3', ['--version']).status === 0
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-examples-'))
  const installed = join(folder, 'node_modules', '@gatehouse', 'sdk')
  mkdirSync(installed, { recursive: true })
  execFileSync('pnpm', ['pack', '--pack-destination', folder], { cwd: join(root, 'packages', 'sdk'), stdio: 'pipe' })
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'))!
  execFileSync('tar', ['-xzf', join(folder, tarball), '-C', installed, '--strip-components=1'])
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each([
  { name: 'worker', packages: ['esbuild', 'workerd'] },
  { name: 'nest-api', packages: ['@nestjs/common', '@nestjs/core', 'esbuild', 'reflect-metadata'] },
])('$name passes its own tests', ({ name, packages }) => {
  const example = join(root, 'examples', name)
  const copy = join(folder, name)
  cpSync(example, copy, { recursive: true, filter: (path) => !/[/](node_modules|dist)$/.test(path) })
  for (const each of packages) {
    const link = join(folder, 'node_modules', each)
    mkdirSync(dirname(link), { recursive: true })
    if (!existsSync(link)) symlinkSync(realpathSync(join(example, 'node_modules', each)), link)
  }
  const printed = execFileSync(process.execPath, ['--test', '--test-reporter=tap'], {
    cwd: copy,
    env: { PATH: process.env.PATH },
    encoding: 'utf8',
    timeout: 120_000,
  })
  expect(printed).toMatch(/^# pass \d\d$/m)
  expect(printed).toMatch(/^# fail 0$/m)
})

test.skipIf(!hasPython)(
  'the gate in Python passes its own tests, including the vectors of docs/guard-a-backend/tokens.md',
  () => {
    const { status, stderr } = spawnSync('python3', ['-m', 'unittest', '-v'], {
      cwd: join(root, 'examples', 'python-api'),
      env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1' },
      encoding: 'utf8',
      timeout: 120_000,
    })
    expect(stderr).toMatch(/^Ran \d+ tests/m)
    expect(status, stderr).toBe(0)
  },
)
