// authctl as one file, for machines without Node and npm (docs/administer/install-authctl.md).
import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import manifest from '../../packages/cli/package.json' with { type: 'json' }
import { admin, gatehouseFixture } from '../cli/sandbox.ts'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-single-file-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const single = join(folder, 'authctl')
const { service } = gatehouseFixture()

/** Runs it where nothing else can be found: no Node, no npm, no modules. Not synchronously, since the service may run in this process. */
async function authctl(words: string[], input = '') {
  const child = execFile(single, words, { cwd: folder, env: { PATH: '', HOME: folder, SSH_TTY: 'none' }, timeout: 60_000 })
  child.stdin?.end(input)
  const ended = once(child, 'close')
  const [stdout, stderr] = await Promise.all([text(child.stdout!), text(child.stderr!)])
  return { stdout, stderr, exit: (await ended)[0] }
}

describe.runIf(process.platform === 'linux')('the single file', () => {
  beforeAll(() => {
    const run = fileURLToPath(new URL('../../scripts/run.mjs', import.meta.url))
    const said = execFileSync(process.execPath, [run, 'authctl:single-file', 'authctl'], { cwd: folder, encoding: 'utf8' })
    expect(said).toBe(`${createHash('sha256').update(readFileSync(single)).digest('hex')}  authctl\n`)
  }, 300_000)

  test('the file is one program that everybody may run, with nothing beside it', () => {
    expect(readdirSync(folder).filter((name) => name.includes('authctl'))).toEqual(['authctl'])
    expect(statSync(single).mode & 0o777).toBe(0o755)
  })

  test('the file prints its version and its help, and no warning', async () => {
    expect(await authctl(['--version'])).toEqual({ stdout: `${manifest.version}\n`, stderr: '', exit: 0 })
    expect(await authctl(['--help'])).toMatchObject({ stdout: expect.stringContaining('$ authctl login'), stderr: '', exit: 0 })
  })

  test('the file signs in at a service, changes it, and shows wide characters in columns', async () => {
    const words = ['login', '--email', admin.email, '--password-stdin', '--base-url', service.url]
    expect(await authctl(words, admin.password)).toMatchObject({ exit: 0 })
    expect(await authctl(['app', 'create', 'shop', '--name', '店'])).toMatchObject({ exit: 0 })
    const listed = await authctl(['app', 'list', '-o', 'table'])
    expect(listed).toMatchObject({ stderr: '', exit: 0 })
    expect(listed.stdout).toContain('店')
    expect(await authctl(['app', 'show', 'nothing'])).toMatchObject({ exit: 3 })
  })

  test('the file writes a declaration as YAML, and makes a secret', async () => {
    expect((await authctl(['export'])).stdout).toContain('apps:')
    expect((await authctl(['secret', 'new', '--json'])).stdout).toMatch(/"kid": ?"[0-9a-f]{8}"/)
  })
})
