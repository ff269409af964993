// `authctl dev probe` finds no holes in the examples. The Next.js example needs a separate
// installation, so its own tests send it the tokens.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { isFastLane } from '../support/lane.ts'
import { ACCESS_SECRET } from '../support/service.ts'
import { gatehouseFixture, parsed } from './sandbox.ts'

const { service, signedIn } = gatehouseFixture({ JWT_ACCESS_SECRET: ACCESS_SECRET })
const hasPython = !isFastLane && spawnSync('python3', ['--version']).status === 0
const node = process.execPath
const folderOf = (name: string) => fileURLToPath(new URL(`../../examples/${name}/`, import.meta.url))

/** Starts an example and returns its address, once it prints that on one of its streams. */
async function start(name: string, [command, ...words]: string[], env: Record<string, string>): Promise<string> {
  const stdio = ['ignore', 'pipe', 'ignore', 'pipe'] as const
  const child = spawn(command!, words, {
    cwd: folderOf(name),
    env: { PATH: process.env.PATH, PORT: '0', ...env },
    stdio: [...stdio],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return new Promise((resolve, reject) => {
    child.on('exit', (code) => reject(new Error(`${name} ended with ${code}`)))
    for (const stream of [child.stdio[1], child.stdio[3]] as NodeJS.ReadableStream[])
      stream.setEncoding('utf8').on('data', (text: string) => {
        const [, url, port] = /listening on (\S+)|"port":(\d+)/.exec(text) ?? []
        if (url ?? port) resolve(url ?? `http://127.0.0.1:${port}/`)
      })
  })
}

const workerd = () => createRequire(join(folderOf('worker'), 'build.js'))('workerd').default as string
const serveWorker = () => [workerd(), 'serve', 'config.capnp', '--socket-addr=http=127.0.0.1:0', '--control-fd=3']

test.each([
  { name: 'express-api', words: () => [node, 'server.ts'] },
  { name: 'fastify-api', words: () => [node, 'server.ts'] },
  { name: 'hono-api', words: () => [node, 'server.ts'] },
  { name: 'koa-api', words: () => [node, 'server.ts'] },
  ...(hasPython ? [{ name: 'python-api', words: () => ['python3', 'server.py'] }] : []),
  ...(isFastLane ? [] : [{ name: 'nest-api', build: true, words: () => [node, 'dist/server.js'] }]),
  ...(isFastLane ? [] : [{ name: 'worker', build: true, words: serveWorker }]),
])('the example $name refuses every attack of dev probe', async ({ name, words, build = false }: Example) => {
  const here = await signedIn()
  if (build) execFileSync(node, ['build.js'], { cwd: folderOf(name) })
  const app = parsed(await here.authctl(`app create ${name} --name Example --json`))
  const account = parsed(await here.authctl(`service-account create ${name} --service ${name} --json`))
  const url = await start(name, words(), {
    SERVICE_AUTH_URL: service.url,
    SERVICE_APP_CODE: app.code,
    SERVICE_APP_ID: app.id,
    SERVICE_ACCOUNT_TOKEN: account.token,
    JWT_ACCESS_SECRET: ACCESS_SECRET,
  })
  writeFileSync(join(here.folder, 'secret'), ACCESS_SECRET)
  const { stdout, stderr, exit } = await here.authctl(`dev probe ${url} --app ${app.code} --secret-file secret --json`)
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
  const { counts, attacks } = parsed({ stdout })
  expect(counts.refused).toBe(attacks.length)
})

interface Example {
  name: string
  words(): string[]
  build?: boolean
}
