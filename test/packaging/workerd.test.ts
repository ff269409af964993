// The SDK in workerd, the runtime of Cloudflare Workers, bundled into one module: with and without workerd's Node compatibility.
// `npm run test:platforms` tests the packed SDK.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTestAuth } from '@gatehouse/sdk/testing'
import { beforeAll, describe, expect, test } from 'vitest'
import { startWorkers, type Workers, workerSettings } from '../support/workerd.ts'

const source = `
  import { createAuth } from '@gatehouse/sdk'
  let auth
  const verifiesAtOnce = (token) => {
    try {
      return auth.verifySync(token).userId !== undefined
    } catch {
      return false
    }
  }
  export default {
    async fetch({ headers }, { secret, appCode }) {
      // The address alone would turn the feed on where the SDK took workerd for Node.
      auth ??= createAuth({ secret, appCode, authUrl: 'http://127.0.0.1:9' })
      const token = headers.get('x-token')
      const { ok, principal, error } = await auth.safeVerify(token)
      return ok
        ? Response.json({ user: principal.userId, isSync: verifiesAtOnce(token), feed: auth.health().revocation.mode })
        : Response.json({ code: error.code }, { status: error.status })
    },
  }
`

const gate = createTestAuth({ appCode: 'billing' })
let folder: string
let workers: Workers

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-workerd-'))
  const resolveDir = fileURLToPath(new URL('.', import.meta.url))
  const variables = { secret: gate.env.JWT_ACCESS_SECRET!, appCode: 'billing' }
  workers = await startWorkers(folder, { source, resolveDir }, variables)
  return async () => {
    workers.stop()
    await gate.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

describe.each(workerSettings)('$name', ({ name, hasNode }) => {
  const ask = async (token: string): Promise<[status: number, body: unknown]> => {
    const response = await fetch(`http://127.0.0.1:${workers.ports.get(name)}/`, { headers: { 'x-token': token } })
    const text = await response.text()
    return [response.status, text.startsWith('{') ? JSON.parse(text) : text]
  }

  test('a good token is accepted, even one beyond ASCII', async () => {
    for (const first_name of ['Ada', 'Zoë 😀'])
      expect(await ask(gate.token({ uid: 'u-1', first_name }))).toEqual([200, { user: 'u-1', isSync: hasNode, feed: 'off' }])
  })

  test('each bad token is refused with its code', async () => {
    const bad = gate.badTokens().filter(({ code }) => code !== 'TOKEN_REVOKED' && code !== 'TOKEN_MISSING')
    expect(bad.length).toBeGreaterThan(12)
    for (const { name, token, code } of bad) expect([name, await ask(token)]).toEqual([name, [401, { code }]])
  })
})
