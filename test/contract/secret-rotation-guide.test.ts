// docs/operate/rotating-the-secret.md, step by step as its table says, on two servers under load: no request fails.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { createAuth } from '../../packages/sdk/src/index.ts'
import { assertionOf, kidOf } from '../support/consumer.ts'
import { createDatabase } from '../support/database.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, type Json, PASSWORD, someEmail, testDatabase } from '../support/service.ts'

const tokenLifeSeconds = 3

interface Step {
  whom: 'servers' | 'consumers'
  secrets: string[]
}

const named: Record<string, string> = { old: randomBytes(36).toString('base64'), new: randomBytes(36).toString('base64') }

function stepsOfTheGuide(): Step[] {
  const guide = readFileSync(new URL('../../docs/operate/rotating-the-secret.md', import.meta.url), 'utf8')
  return [...guide.matchAll(/^\| \d+ \| (servers|consumers) \| (old|new) \| (old|new|–) \|$/gm)].map(
    ([, whom, signs, besides]) => ({
      whom: whom as Step['whom'],
      secrets: [signs!, besides!].filter((name) => name !== '–').map((name) => named[name]!),
    }),
  )
}

/** Servers behind a balancer that sends nothing to one that is being restarted. */
class Fleet {
  readonly #database: string
  #servers: { server: ServerInstance; inFlight: Set<Promise<unknown>> }[] = []
  #turn = 0

  constructor(database: string) {
    this.#database = database
  }

  async add(secrets: string[]): Promise<void> {
    const [current, previous] = secrets
    const server = await startInstance({
      DATABASE_URL: this.#database,
      ...bootstrapAdmin,
      JWT_ACCESS_TTL_SECONDS: String(tokenLifeSeconds),
      JWT_ACCESS_SECRET: current!,
      ...(previous ? { JWT_ACCESS_SECRET_PREVIOUS: previous } : {}),
    })
    this.#servers.push({ server, inFlight: new Set() })
  }

  /** Replaces each server, one after the other. */
  async restart(secrets: string[]): Promise<void> {
    for (const _ of [...this.#servers]) {
      const { server, inFlight } = this.#servers.shift()!
      await Promise.allSettled([...inFlight])
      await server.stop()
      await this.add(secrets)
    }
  }

  call: ServerInstance['call'] = (method, path, options) => {
    this.#turn += 1
    const { server, inFlight } = this.#servers[this.#turn % this.#servers.length]!
    const reply = server.call(method, path, options)
    inFlight.add(reply)
    reply.then(
      () => inFlight.delete(reply),
      () => inFlight.delete(reply),
    )
    return reply
  }
}

/** An instance of a backend with its current settings. */
class Consumer {
  readonly app: { code: string }
  secrets: string[] = []
  #auth!: ReturnType<typeof createAuth>

  constructor(code: string, secrets: string[]) {
    this.app = { code }
    this.restart(secrets)
  }

  restart(secrets: string[]): void {
    this.secrets = secrets
    const secret = secrets.length === 2 ? ([secrets[0]!, secrets[1]!] as const) : secrets[0]!
    this.#auth = createAuth({ authUrl: 'http://127.0.0.1', appCode: this.app.code, secret, revocation: { mode: 'off' } })
  }

  verify(token: string): Promise<unknown> {
    return this.#auth.verify(token)
  }

  assertion(): string {
    return assertionOf(this.app, { secret: this.secrets[0]!, claims: { kids: this.secrets.map(kidOf) } })
  }
}

class Load {
  readonly done: Record<string, number> = {}
  readonly failed: string[] = []
  #isStopping = false
  readonly #loops: Promise<void>[] = []

  /** Repeats `work` until the load stops. */
  keep(work: () => Promise<void>): void {
    const loop = async () => {
      while (!this.#isStopping) {
        await work().catch((error) => this.failed.push(`${error}`))
        // A few hundred requests a second: more would show nothing new and keep two cores busy.
        await sleep(25)
      }
    }
    this.#loops.push(loop())
  }

  async expectReply(what: string, reply: Promise<Json>, holds: (body: Json) => boolean = () => true): Promise<Json> {
    const { status, body } = await reply
    this.done[what] = (this.done[what] ?? 0) + 1
    if (status !== 200 || !holds(body)) throw new Error(`${what} answered ${status} ${JSON.stringify(body)}`)
    return body
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#loops)
  }
}

test('the guide has five steps and ends with only the new secret in use', () => {
  const steps = stepsOfTheGuide()
  expect(steps.map(({ whom }) => whom)).toEqual(['servers', 'consumers', 'servers', 'consumers', 'servers'])
  expect(steps.at(-1)).toEqual({ whom: 'servers', secrets: [named.new] })
  expect(steps.at(-2)).toEqual({ whom: 'consumers', secrets: [named.new] })
})

describe.runIf(testDatabase() === 'postgres')('a rotation in the order of the guide', () => {
  // covers auth-rotation
  test('the rotation fails no login, refresh, validation, introspection or feed, and makes the old secret worthless', async () => {
    const database = await createDatabase('postgres', inject('templates'))
    onTestFinished(() => database.drop())
    const fleet = new Fleet(database.url)
    await fleet.add([named.old!])
    await fleet.add([named.old!])
    const admin = async () =>
      (await fleet.call('POST', '/auth/login', { body: { email: ADMIN_EMAIL, password: PASSWORD, app_code: 'authctl' } })).body
        .access_token
    const token = await admin()
    for (const code of ['shop', 'desk'])
      await fleet.call('POST', '/admin/apps', { token, body: { code, name: code, auto_grant_on_signup: true } })
    const consumers = ['shop', 'shop', 'desk'].map((code) => new Consumer(code, [named.old!]))
    const of = (code: string) => consumers.filter(({ app }) => app.code === code)
    const emails = Array.from({ length: 4 }, () => someEmail())
    for (const email of emails)
      await fleet.call('POST', '/auth/register', { body: { email, password: PASSWORD, app_code: 'shop' } })

    const load = new Load()
    onTestFinished(() => load.stop())
    let lastToken = ''
    for (const [index, email] of emails.entries()) {
      const app_code = index % 2 ? 'shop' : 'desk'
      load.keep(async () => {
        const body = { email, password: PASSWORD, app_code }
        let tokens = await load.expectReply('login', fleet.call('POST', '/auth/login', { body }))
        for (let round = 0; round < 3; round += 1) {
          await Promise.all(of(app_code).map((consumer) => consumer.verify(tokens.access_token)))
          // Consecutive calls go to different servers.
          await load.expectReply('me', fleet.call('GET', '/auth/me', { token: tokens.access_token }))
          const asked = { token: of(app_code)[0]!.assertion(), body: { token: tokens.access_token } }
          await load.expectReply('introspect', fleet.call('POST', '/auth/introspect', asked), ({ active }) => active)
          const { refresh_token } = tokens
          tokens = await load.expectReply('refresh', fleet.call('POST', '/auth/refresh', { body: { refresh_token } }))
          lastToken = tokens.access_token
        }
      })
    }
    for (const consumer of consumers)
      load.keep(async () => {
        await load.expectReply('feed', fleet.call('GET', '/revocations', { token: consumer.assertion() }))
      })

    await expect.poll(() => lastToken).not.toBe('')
    const oldToken = lastToken
    let consumersUpdated = 0
    for (const [index, { whom, secrets }] of stepsOfTheGuide().entries()) {
      if (whom === 'servers') await fleet.restart(secrets)
      else
        for (const consumer of consumers) {
          consumer.restart(secrets)
          consumersUpdated = Date.now()
          await sleep(300)
        }
      await sleep(300)
      if (index === 1) {
        // The check between steps 2 and 3: every app has the new secret, and none was seen without it since the update.
        const { body } = await fleet.call('GET', '/admin/secrets', { token: await admin() })
        expect([body.current.kid, body.previous.kid]).toEqual([kidOf(named.old!), kidOf(named.new!)])
        const ready = body.consumers.filter((each: Json) => each.kid === body.previous.kid)
        expect(ready.map((each: Json) => each.app_code)).toEqual(['desk', 'shop'])
        for (const each of ready) expect(Date.parse(each.last_missing_at)).toBeLessThan(consumersUpdated)
      }
      // The wait after step 3: the life of a token, and the tolerance of validators.
      if (index === 2) await sleep((tokenLifeSeconds + 1) * 1_000)
    }
    await load.stop()

    expect(load.failed).toEqual([])
    for (const what of ['login', 'me', 'introspect', 'refresh', 'feed']) expect(load.done[what], what).toBeGreaterThan(20)
    const refused = await fleet.call('GET', '/auth/me', { token: oldToken })
    expect(refused.body.code).toBe('token_invalid')
    const oldConsumer = new Consumer('shop', [named.old!])
    expect((await fleet.call('GET', '/revocations', { token: oldConsumer.assertion() })).body.code).toBe('token_invalid')
    expect((await fleet.call('GET', '/auth/me', { token: lastToken })).status).toBe(200)
    await consumers[0]!.verify(lastToken).catch(() => consumers[2]!.verify(lastToken))
  }, 300_000)
})
