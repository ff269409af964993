import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { machine, reply, type StandIn, standIn } from './sandbox.ts'

const notice = 'the service has version 99.1.0, this authctl only '

/** A service of this version. It answers the list after /health; with `tells: false` it never answers /health. */
async function serviceOf(
  version: unknown,
  { tells = true } = {},
): Promise<StandIn & { env: Record<string, string>; looks(): number }> {
  let told = () => {}
  const hasTold = new Promise<void>((resolve) => {
    told = resolve
  })
  const service = await standIn(async ({ path }, response: ServerResponse) => {
    if (path.endsWith('/health')) {
      if (!tells) return
      reply(response, 200, { status: 'ok', version })
      response.once('close', told).once('finish', told)
      return
    }
    if (tells && service.requests.some(({ path }) => path.endsWith('/health'))) await hasTold
    // Leave authctl time to read the answer of /health.
    setTimeout(() => reply(response, 200, { items: [], next_cursor: null }), tells ? 300 : 0)
  })
  return {
    ...service,
    env: { AUTHCTL_TOKEN: 'a-token', AUTHCTL_BASE_URL: service.url, AUTHCTL_NO_UPDATE_NOTICE: '' },
    looks: () => service.requests.filter(({ path }) => path.endsWith('/health')).length,
  }
}

test('a newer service is mentioned once a day, and its version is read without a token', async () => {
  const { env, looks, requests } = await serviceOf('99.1.0')
  const here = machine()
  expect((await here.terminal('app list', { env }).ended()).screen).toContain(notice)
  expect(requests.find(({ path }) => path.endsWith('/health'))?.authorization).toBe(undefined)
  expect((await here.terminal('app list', { env }).ended()).screen).not.toContain(notice)
  expect(looks()).toBe(1)
  const file = join(here.folder, 'config', 'authctl', 'update-notice.json')
  expect(Object.values(JSON.parse(readFileSync(file, 'utf8')))).toEqual([expect.any(Number)])
})

test.each(['0.0.1', 'no version', '99.1.0\u001b[31m', 7])('the version %j is not mentioned', async (version) => {
  const { env, looks } = await serviceOf(version)
  const { screen, exit } = await machine().terminal('app list', { env }).ended()
  expect({ screen, exit, looks: looks() }).toEqual({ screen: 'no apps\n', exit: 0, looks: 1 })
})

test('no command waits for the version of the service', async () => {
  const { env, looks } = await serviceOf('99.1.0', { tells: false })
  const { screen, exit } = await machine().terminal('app list', { env }).ended()
  expect({ screen, exit, looks: looks() }).toEqual({ screen: 'no apps\n', exit: 0, looks: 1 })
})

test('the version is not read in CI, in pipes, with --json or --quiet, or if the notice is turned off', async () => {
  const { env, looks } = await serviceOf('99.1.0')
  const here = machine()
  await here.terminal('app list', { env: { ...env, CI: 'true' } }).ended()
  await here.terminal('app list', { env: { ...env, AUTHCTL_NO_UPDATE_NOTICE: '1' } }).ended()
  await here.terminal('app list --json', { env }).ended()
  await here.terminal('app list --quiet', { env }).ended()
  await here.authctlProcess('app list', { env })
  expect(looks()).toBe(0)
})
