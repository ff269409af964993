// The keys of ID tokens on two servers that share a database.
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { createDatabase } from '../support/database.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type Client, jwks, partsOf, signInAs } from '../support/openid.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, type Json, PASSWORD, type Reply, someEmail, testDatabase } from '../support/service.ts'

const settings = { DB_POOL_MAX: '5', PUBLIC_URL: 'https://login.example.com', ...bootstrapAdmin }
const callback = 'https://wiki.example/callback'

describe.runIf(testDatabase() === 'postgres')('OpenID Connect on two servers with one database', () => {
  let servers: [ServerInstance, ServerInstance]
  let client: Client
  let admin: (method: string, path: string, body?: Json) => Promise<Reply>

  beforeAll(async () => {
    const database = await createDatabase('postgres', inject('templates'))
    afterAll(() => database.drop())
    const start = () => startInstance({ ...settings, DATABASE_URL: database.url }, onFileEnd)
    servers = await Promise.all([start(), start()])
    const token = (await servers[0].login(ADMIN_EMAIL, 'authctl')).body.access_token
    admin = (method, path, body) => servers[0].call(method, path, { token, ...(body === undefined ? {} : { body }) })
    const wiki = { code: 'wiki', name: 'Wiki', auto_grant_on_signup: true, allowed_redirect_urls: [callback] }
    const app = (await admin('POST', '/admin/apps', { ...wiki, client: 'confidential' })).body
    const { secret } = (await admin('POST', '/admin/apps/wiki/client-secrets')).body
    client = { app, secret }
  })

  test('two servers that make the first keys at the same time have the same keys', async () => {
    const asked = Array.from({ length: 10 }, (_, index) => servers[index % 2]!)
    const lists = await Promise.all(asked.map((server) => jwks(server)))
    expect(new Set(lists.map((keys) => keys.map(({ kid }) => kid).join())).size).toBe(1)
    expect(lists[0]).toHaveLength(2)
  })

  test('a rotation takes effect on both servers at once, and a client with the former keys verifies every token', async () => {
    const known = new Set((await jwks(servers[1])).map(({ kid }) => kid))
    const people = await Promise.all(
      servers.map(async (server) => {
        const body = { email: someEmail(), password: PASSWORD, app_code: 'wiki', mode: 'register_or_return' }
        return { server, user: (await admin('POST', '/auth/register', body)).body.user as Json }
      }),
    )
    const kidAt = async ({ server, user }: (typeof people)[number]) => {
      const { tokens } = await signInAs(server as never, client, {}, { user })
      return partsOf(tokens.id_token).header.kid as string
    }
    let isOver = false
    const used = people.map(async (person) => {
      const kids = []
      while (!isOver) kids.push(await kidAt(person))
      return kids
    })
    const before = (await admin('GET', '/admin/signing-keys')).body.items
    const next = before.find(({ stage }: Json) => stage === 'next').kid
    try {
      expect((await admin('POST', '/admin/signing-keys/rotate', {})).status).toBe(200)
      expect(await Promise.all(people.map(kidAt))).toEqual([next, next])
    } finally {
      isOver = true
    }
    for (const kids of await Promise.all(used)) for (const kid of kids) expect(known).toContain(kid)
  })

  test('one of two concurrent rotations of the same key succeeds', async () => {
    const { items } = (await admin('GET', '/admin/signing-keys')).body
    const current_kid = items.find(({ stage }: Json) => stage === 'current').kid
    const replies = await atOnce(2, () => admin('POST', '/admin/signing-keys/rotate', { current_kid }))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409])
  })
})
