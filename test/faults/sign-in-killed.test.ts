// A sign-in on the page takes several requests. Whenever a server dies between them, nothing is left half done, and the person gets on.
import { describe, expect, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { chance } from '../support/chance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, type Json, PASSWORD } from '../support/client.ts'
import { createDatabase, type DatabaseKind } from '../support/database.ts'
import { measured, sized } from '../support/fault.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'
import { type AskedFor, askFor, type Visitor, visit } from '../support/sign-in-page.ts'

const rounds = sized(2, 25)
const people = 8

async function createShop(server: ServerProcess): Promise<Json> {
  const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  const body = { code: 'shop', name: 'Shop', auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/cb'] }
  return (await server.call('POST', '/admin/apps', { token, body })).body
}

async function register(server: ServerProcess, email: string): Promise<void> {
  const body = { email, password: PASSWORD, app_code: 'shop' }
  expect((await server.call('POST', '/auth/register', { body })).status).toBe(201)
}

/** Undefined if the server has died before it answered. */
async function exchangeAt(url: string, { redirectUri: redirect_uri, verifier: code_verifier }: AskedFor, code: string) {
  const body = new URLSearchParams({ grant_type: 'authorization_code', client_id: 'shop', redirect_uri, code_verifier, code })
  try {
    const reply = await fetch(`${url}/oauth/token`, { method: 'POST', body })
    return { status: reply.status, body: (await reply.json()) as Json }
  } catch {
    return undefined
  }
}

/** A person in front of the page, and how far they have come. */
interface Journey {
  email: string
  visitor: Visitor
  asked: AskedFor
  code?: string
  tokens?: Json
}

/** Goes on until the person has tokens. Throws when the server dies. */
async function goOn(at: { url: string }, journey: Journey): Promise<void> {
  const { visitor, asked, email } = journey
  let page = await visitor.get(asked.path)
  if (!page.app) page = await visitor.send(page, 'Sign in', { email, password: PASSWORD })
  const code = page.app?.searchParams.get('code')
  if (!code) throw new Error(`no code: ${page.title}`)
  journey.code = code
  const answer = await exchangeAt(at.url, asked, code)
  if (answer?.status !== 200) throw new Error(`no tokens: ${JSON.stringify(answer?.body)}`)
  journey.tokens = answer.body
}

/** What holds at any moment: a code opens one session at most, a session of the page has its code, and sign-ins are audited. */
async function expectNothingHalf(databaseUrl: string): Promise<void> {
  const db = createKnex({ databaseUrl, dbPoolMax: 1 })
  try {
    const opened: string[] = await db('sessions').whereNotNull('browser_session_id').orderBy('id').pluck('id')
    const codes: Json[] = await db('authorization_codes').whereNotNull('session_id').select('session_id', 'spent_at')
    expect(codes.map(({ session_id }) => session_id).sort()).toEqual(opened)
    expect(codes.filter(({ spent_at }) => spent_at === null)).toEqual([])
    const [{ made }] = (await db('browser_sessions').count({ made: '*' })) as [Json]
    const [{ told }] = (await db('audit_events').where({ event: 'browser_session.created' }).count({ told: '*' })) as [Json]
    expect(Number(told)).toBe(Number(made))
    const [{ entered }] = (await db('audit_events')
      .where({ event: 'login.success' })
      .whereIn('user_id', db('sessions').whereNotNull('browser_session_id').select('user_id'))
      .count({ entered: '*' })) as [Json]
    expect(Number(entered)).toBe(opened.length)
  } finally {
    await db.destroy()
  }
}

describe.each<DatabaseKind>(['sqlite', 'postgres'])('a server on %s', (kind) => {
  test('kill -9 between proof, code and exchange leaves nothing half done, and each person goes on in the same browser', {
    timeout: 600_000,
  }, async (context) => {
    const database = await createDatabase(kind)
    onTestFinished(() => database.drop())
    const settings = { DATABASE_URL: database.url, ...bootstrapAdmin }
    const dice = chance(46)
    let server = await startServer(settings)
    const at = { url: server.url }
    const shop = await createShop(server)
    const count = { whole: 0, withCode: 0, cut: 0 }
    for (let round = 0; round < rounds; round += 1) {
      const journeys: Journey[] = []
      for (let person = 0; person < people; person += 1) {
        const email = `person-${round}-${person}@example.com`
        await register(server, email)
        journeys.push({ email, visitor: visit(at), asked: askFor(shop) })
      }
      // They begin one after the other, so that the kill meets each of them somewhere else.
      const under = journeys.map((journey, person) =>
        new Promise((resolve) => setTimeout(resolve, person * 40)).then(() => goOn(at, journey)).catch(() => undefined),
      )
      await Promise.race([...under, server.ended])
      await new Promise((resolve) => setTimeout(resolve, dice.next() * 200))
      server.signal('SIGKILL')
      await server.ended
      await Promise.all(under)
      server = await startServer(settings)
      at.url = server.url
      await expectNothingHalf(database.url)
      for (const journey of journeys) {
        count[journey.tokens ? 'whole' : journey.code ? 'withCode' : 'cut'] += 1
        if (!journey.tokens && journey.code) {
          // Whether or not the exchange was done, repeating it gives no second session.
          const again = await exchangeAt(at.url, journey.asked, journey.code)
          expect(again?.status === 200 || again?.body.error === 'invalid_grant', JSON.stringify(again)).toBe(true)
          if (again?.status === 200) journey.tokens = again.body
        }
        if (!journey.tokens) await goOn(at, { ...journey, asked: askFor(shop) })
        else expect((await server.call('GET', '/auth/me', { token: journey.tokens.access_token })).status).toBe(200)
      }
      await expectNothingHalf(database.url)
    }
    expect(count.cut + count.withCode).toBeGreaterThan(0)
    measured(
      context,
      `${rounds} kills, ${rounds * people} sign-ins: ${count.whole} done, ${count.withCode} with a code, ${count.cut} before; 0 half done`,
    )
    await server.stop()
  })
})

test('each code that two programs exchange at once opens at most one session if one is killed, and the other goes on', {
  timeout: 600_000,
}, async (context) => {
  const database = await createDatabase('postgres')
  onTestFinished(() => database.drop())
  const settings = { DATABASE_URL: database.url, ...bootstrapAdmin }
  const [staying, first] = [await startServer(settings), await startServer(settings)]
  const shop = await createShop(staying)
  const dice = chance(47)
  let opened = 0
  let dying = first
  for (let round = 0; round < rounds; round += 1) {
    const codes: { asked: AskedFor; code: string }[] = []
    for (let person = 0; person < people; person += 1) {
      const email = `pair-${round}-${person}@example.com`
      await register(staying, email)
      const asked = askFor(shop)
      const visitor = visit(staying)
      const page = await visitor.get(asked.path)
      const { app } = await visitor.send(page, 'Sign in', { email, password: PASSWORD })
      codes.push({ asked, code: app?.searchParams.get('code') ?? '' })
    }
    const exchanges = codes.flatMap(({ asked, code }) => [dying, staying].map(({ url }) => exchangeAt(url, asked, code)))
    await Promise.race(exchanges)
    await new Promise((resolve) => setTimeout(resolve, dice.next() * 20))
    dying.signal('SIGKILL')
    await dying.ended
    const answers = await Promise.all(exchanges)
    for (const answer of answers)
      if (answer) expect(answer.status === 200 || answer.body.error === 'invalid_grant', JSON.stringify(answer)).toBe(true)
    opened += answers.filter((answer) => answer?.status === 200).length
    for (let index = 0; index < codes.length; index += 1)
      expect(answers.slice(index * 2, index * 2 + 2).filter((answer) => answer?.status === 200).length).toBeLessThanOrEqual(1)
    await expectNothingHalf(database.url)
    dying = await startServer(settings)
  }
  measured(context, `${rounds} kills, ${rounds * people} codes exchanged twice at once: ${opened} sessions, none of them twice`)
})
