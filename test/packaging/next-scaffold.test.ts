// The documented code for Next.js, in the app that create-next-app makes by default, built and started with the packed SDK.
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { createTestAuth } from '@gatehouse/sdk/testing'
import { expect, onTestFinished, test } from 'vitest'
import { readText, root } from '../support/deployment-files.ts'
import { freePort } from '../support/free-port.ts'
import { npmPack, unpack } from '../support/npm-pack.ts'

const run = promisify(execFile)
const scaffolder = 'create-next-app@16.4.3'
const quiet = { NO_COLOR: '1', NEXT_TELEMETRY_DISABLED: '1' }
/** The app's own environment, without settings of the service that the tests may have. */
const env = { PATH: process.env.PATH!, HOME: process.env.HOME!, NODE_ENV: 'production', ...quiet } as const

/** Returns the folder of the scaffolded app, with its packages. It is made once, in the git-ignored `.runtime/`. */
async function scaffold(): Promise<string> {
  const app = join(root, '.runtime', scaffolder.replace('@', '-'))
  if (existsSync(app)) return app
  process.stderr.write('[gatehouse] fetching Next.js (370 MB) into .runtime/ (once)\n')
  mkdirSync(dirname(app), { recursive: true })
  const staging = mkdtempSync(join(dirname(app), 'next-'))
  try {
    const options = [
      '--empty',
      '--ts',
      '--app',
      '--no-src-dir',
      '--no-linter',
      '--no-tailwind',
      '--disable-git',
      '--use-npm',
      '--yes',
    ]
    await run('npx', ['--yes', scaffolder, 'app', ...options], {
      cwd: staging,
      env: { ...process.env, ...quiet },
      timeout: 200_000,
    })
    renameSync(join(staging, 'app'), app)
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
  return app
}

/** The files in the code block of the page, each below a comment with its path. */
function documentedFiles(): [path: string, content: string][] {
  const [, section = ''] = readText('docs/sdk-entry-points.md').split('\n## Next.js\n')
  const [, block = ''] = section.split(/^```.*\n/m)
  const [, ...parts] = block.split(/^\/\/ (\S+)\n/m)
  return parts.flatMap((path, index) => (index % 2 === 0 ? [[path, parts[index + 1]!]] : []))
}

test('the documented code builds with Cache Components, answers each request for its own token, and logs no error', async ({
  skip,
}) => {
  const app = await scaffold().catch((error: Error & { stderr?: string; killed?: boolean }) => {
    const said = `${error.stderr}${error.message}`
    if (!error.killed && !/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ECONNRESET/.test(said)) throw error
    return skip('the npm registry cannot be reached, so there is no Next.js')
  })
  expect(readFileSync(join(app, 'next.config.ts'), 'utf8')).toContain('cacheComponents: true')
  const packed = mkdtempSync(join(tmpdir(), 'gatehouse-next-'))
  onTestFinished(() => rmSync(packed, { recursive: true, force: true }))
  const sdk = join(app, 'node_modules/@gatehouse/sdk')
  for (const stale of [sdk, join(app, '.next')]) rmSync(stale, { recursive: true, force: true })
  unpack(npmPack('sdk', packed), sdk)
  const files = documentedFiles()
  expect(files.map(([path]) => path)).toEqual(['auth.ts', 'app/api/notes/route.ts', 'app/page.tsx'])
  for (const [path, content] of files) {
    mkdirSync(dirname(join(app, path)), { recursive: true })
    writeFileSync(join(app, path), content)
  }

  const next = join(app, 'node_modules/next/dist/bin/next')
  await run(process.execPath, [next, 'build'], { cwd: app, env })
  const auth = createTestAuth({ appCode: 'notes' })
  onTestFinished(() => auth.close())
  const port = await freePort()
  const program = spawn(process.execPath, [next, 'start', '--hostname', '127.0.0.1', '--port', String(port)], {
    cwd: app,
    env: { ...env, ...auth.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void program.kill('SIGKILL'))
  let log = ''
  for (const stream of [program.stdout, program.stderr]) stream.setEncoding('utf8').on('data', (text) => (log += text))
  await expect.poll(() => log).toContain('Ready in')

  const url = `http://127.0.0.1:${port}`
  const shown = async (headers = {}) => /<h1>([^<…]+)<\/h1>/.exec(await (await fetch(url, { headers })).text())?.[1]
  expect(await shown(auth.bearer())).toBe('test.user@example.com')
  expect(await shown()).toBe('nobody')
  for (const { token } of auth.badTokens()) expect(await shown({ authorization: `Bearer ${token}` })).toBe('nobody')
  const notes = await fetch(`${url}/api/notes`, { headers: auth.bearer() })
  expect([notes.status, await notes.json()]).toEqual([200, { hello: 'test.user@example.com' }])
  expect((await fetch(`${url}/api/notes`)).status).toBe(401)
  expect(log).not.toContain('Error')
})
