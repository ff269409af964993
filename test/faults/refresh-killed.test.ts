// A client whose refresh was cut off because the server died repeats it with the same token and carries on.
import { afterEach, describe, expect, test } from 'vitest'
import { ADMIN_EMAIL, bootstrapAdmin } from '../support/client.ts'
import { createDatabase, type DatabaseKind, type TestDatabase } from '../support/database.ts'
import { measured, sized } from '../support/fault.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'

const ROUNDS = sized(3, 25)
const CLIENTS = 8

let database: TestDatabase | undefined
afterEach(async () => {
  await database?.drop()
  database = undefined
})

/** Delays that are the same in every run and are spread over the time that a batch of refreshes takes. */
function delayOf(round: number): number {
  return ((round * 7919 + 13) % 31) + 2
}

async function refresh(server: ServerProcess, token: string) {
  return server.call('POST', '/auth/refresh', { body: { refresh_token: token } })
}

describe.each<DatabaseKind>(['sqlite', 'postgres'])('a server on %s', (kind) => {
  test('kill -9 in the middle of refreshes strands no client and forks no session', { timeout: 600_000 }, async (context) => {
    database = await createDatabase(kind)
    const settings = {
      DATABASE_URL: database.url,
      ...bootstrapAdmin,
      AUTH_REFRESH_LEEWAY_SECONDS: '300',
    }
    let server = await startServer(settings)
    const tokens: string[] = []
    for (let client = 0; client < CLIENTS; client += 1)
      tokens.push((await server.login(ADMIN_EMAIL, 'authctl')).body.refresh_token)

    let cut = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      const inFlight = tokens.map((token) => refresh(server, token).catch(() => undefined))
      await new Promise((resolve) => setTimeout(resolve, delayOf(round)))
      server.signal('SIGKILL')
      await server.ended
      const answers = await Promise.all(inFlight)
      cut += answers.filter((answer) => answer === undefined).length

      server = await startServer(settings)
      for (const [client, answer] of answers.entries()) {
        // A client that got an answer continues with it. Any other client repeats its refresh.
        const next = answer?.status === 200 ? answer : await refresh(server, tokens[client]!)
        expect({ round, client, status: next.status, code: next.body?.code }).toEqual({
          round,
          client,
          status: 200,
          code: undefined,
        })
        tokens[client] = next.body.refresh_token
      }
    }
    expect(cut).toBeGreaterThan(0)
    for (const token of tokens) expect((await refresh(server, token)).status).toBe(200)
    measured(
      context,
      `${ROUNDS} kills, ${ROUNDS * CLIENTS} refreshes under way, ${cut} without an answer; 0 clients stranded, 0 sessions forked`,
    )
    await server.stop()
  })
})
