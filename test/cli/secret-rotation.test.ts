// Follows the whole guide with `secret rotate`, restarting real servers step by step.
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { assertionOf, kidOf } from '../support/consumer.ts'
import { createDatabase, type DatabaseKind } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { admin, errorOf, gatehouseFixture, machine, parsed } from './sandbox.ts'

const [old, next] = [randomBytes(36).toString('base64'), randomBytes(36).toString('base64')]

describe.each<DatabaseKind>(['sqlite', 'postgres'])('secret rotate on %s', (kind) => {
  test('secret rotate names at each step what to restart with which secrets, and when to continue', async () => {
    const database = await createDatabase(kind)
    onTestFinished(() => database.drop())
    const port = String(await freePort())
    let server: ServerInstance | undefined
    const restart = async (current: string, previous?: string) => {
      await server?.stop()
      server = await startInstance({
        DATABASE_URL: database.url,
        PORT: port,
        AUTH_BOOTSTRAP_ADMIN_EMAIL: admin.email,
        AUTH_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
        JWT_ACCESS_TTL_SECONDS: '2',
        JWT_ACCESS_SECRET: current,
        ...(previous ? { JWT_ACCESS_SECRET_PREVIOUS: previous } : {}),
      })
    }
    /** Asks for revocations as an instance of a consumer with these secrets, which shows the service that it has them. */
    const poll = async (app: string, ...secrets: string[]) => {
      const token = assertionOf({ code: app }, { secret: secrets[0]!, claims: { kids: secrets.map(kidOf) } })
      const reply = await fetch(`${server!.url}/api/v1/revocations`, { headers: { authorization: `Bearer ${token}` } })
      expect(reply.status).toBe(200)
    }

    await restart(old)
    const here = machine()
    await here.login(server!.url)
    for (const code of ['shop', 'blog']) await here.authctl(`app create ${code} --name ${code}`)
    for (const app of ['shop', 'blog']) await poll(app, old)
    const begun = parsed(await here.authctl('secret rotate --json'))
    expect(begun).toMatchObject({ next: null, verdict: 'go on', todo: [expect.stringContaining('secret rotate --new')] })
    writeFileSync(join(here.folder, 'secret.txt'), `${next}\n`)
    const look = async () => {
      const ended = await here.authctl('secret rotate --secret-file secret.txt --json')
      expect(ended.stdout + ended.stderr).not.toContain(next)
      return parsed(ended)
    }

    expect(await look()).toMatchObject({
      next: kidOf(next),
      step: 1,
      verdict: 'wait',
      todo: [expect.stringMatching(/^servers.*=old.*=new$/)],
    })
    await restart(old, next)
    const behind = await look()
    expect(behind).toMatchObject({ step: 2, verdict: 'wait', todo: [expect.stringMatching(/^consumers.*=new.*=old$/)] })
    expect(behind.why).toContain('blog, shop')
    await poll('shop', next, old)
    expect((await look()).why).toContain('blog')
    // In a terminal it waits, and reports as soon as the last consumer has the secret.
    const watching = here.terminal('secret rotate --secret-file secret.txt')
    await watching.shows('not every consumer accepts the next secret')
    // Make it look as if the earlier instances were last seen minutes ago.
    await ageLedger(database.url)
    for (const app of ['shop', 'blog']) await poll(app, next, old)
    const seenAt = Date.now()
    const watched = await watching.ended()
    expect(Date.now() - seenAt).toBeLessThan(10_000)
    expect([watched.exit, watched.screen]).toEqual([0, expect.stringMatching(/VERDICT +go on/)])

    await restart(next, old)
    expect(await look()).toMatchObject({ step: 3, verdict: 'wait', todo: [] })
    await expect.poll(async () => (await look()).step, { interval: 200 }).toBe(4)
    expect(await look()).toMatchObject({ verdict: 'wait', todo: [expect.stringMatching(/^consumers.*=new.*unset$/)] })
    await ageLedger(database.url)
    for (const app of ['shop', 'blog']) await poll(app, next)
    expect(await look()).toMatchObject({ step: 4, verdict: 'go on', todo: [expect.stringMatching(/^servers.*=new.*unset$/)] })
    await restart(next)
    expect(await look()).toMatchObject({ step: 5, verdict: 'done' })
  })
})

/** Moves all sightings so far ten minutes into the past. */
async function ageLedger(databaseUrl: string): Promise<void> {
  const { createKnex } = await import('../../packages/server/src/db/knex.ts')
  const db = createKnex({ databaseUrl, dbPoolMax: 1 })
  try {
    await db('consumer_secrets').update({ last_seen_at: db.raw('last_seen_at - 600000') })
  } finally {
    await db.destroy()
  }
}

const { signedInOnce } = gatehouseFixture({ JWT_ACCESS_SECRET: old })

test('secret rotate refuses an invalid key id or file, and looks once without a terminal', async () => {
  const { authctl } = await signedInOnce()
  expect((await authctl('secret rotate --next nonsense')).exit).toBe(6)
  expect((await authctl('secret rotate --secret-file nowhere.txt')).exit).toBe(6)
  expect((await authctl('secret rotate --next 00000000 --secret-file x')).exit).toBe(2)
  const made = await authctl('secret rotate --new made.txt --json')
  expect([parsed(made).step, made.stderr]).toEqual([1, expect.stringContaining('--secret-file made.txt')])
  expect((await authctl('secret rotate --new made.txt')).exit).toBe(6)
  const leaked = parsed(await authctl('secret rotate --next 00000000 --leaked --json'))
  expect(leaked).toMatchObject({ verdict: 'wait', todo: [expect.stringContaining('all at once')] })
  expect(errorOf(await authctl('secret rotate --next 0 --json')).code).toBe('invalid_kid')
})
