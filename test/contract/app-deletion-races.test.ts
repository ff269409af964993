// An app is deleted with everybody in it, while they come in by ways that hold a row of the app: codes, devices, mails, providers,
// refresh tokens. A deletion takes the app before its rows, so each of these has to keep the app first.
import { beforeAll, expect, test } from 'vitest'
import { forUpdate } from '../../packages/server/src/db/locks.ts'
import { transaction } from '../../packages/server/src/db/transaction.ts'
import { App } from '../../packages/server/src/models/app.ts'
import { renewCatalog } from '../../packages/server/src/resources/catalog/catalog.ts'
import { atOnce, chance } from '../support/chance.ts'
import { fixture, mailingFixture } from '../support/fixtures.ts'
import { until } from '../support/mailbox.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { buildClient, type Client, redeem, sendForm } from '../support/openid.ts'
import { arrive, buildSsoProvider, callbackOf, exchange, REDIRECT_URL, startProvider } from '../support/provider.ts'
import { buildApp, buildUser, type Json, PASSWORD, someEmail, testDatabase } from '../support/service.ts'
import { askFor, signInOnPage, visit } from '../support/sign-in-page.ts'

const { service, mailbox } = mailingFixture({ AUTH_RATE_LIMIT_IP: 'off', AUTH_RATE_LIMIT_USER: 'off' })
const people = 6
const rounds = 4

interface Reply {
  status: number
  body: Json
}
/** Goes as far as the last step, and returns that step. */
type Way = (client: Client) => Promise<() => Promise<Reply>>

async function codeOf(client: Client) {
  const { user } = await buildUser(service, client.app)
  const asked = askFor(client.app, { scope: 'openid', nonce: 'n' })
  const { app: at } = await signInOnPage(visit(service), asked, user.email)
  return { asked, at: at! }
}

const ways: Record<string, Way> = {
  'the code of the page': async (client) => {
    const { asked, at } = await codeOf(client)
    return () => redeem(service, client, asked, at)
  },
  'a refresh token': async (client) => {
    const { asked, at } = await codeOf(client)
    const { body } = await redeem(service, client, asked, at)
    const form = { client_id: client.app.code, client_secret: client.secret }
    return () => sendForm(service, '/oauth/token', { grant_type: 'refresh_token', refresh_token: body.refresh_token, ...form })
  },
  'an approval of a device': async (client) => {
    const begun = (
      await sendForm(service, '/oauth/device_authorization', { client_id: client.app.code, client_secret: client.secret })
    ).body
    const { user } = await buildUser(service, client.app)
    const visitor = visit(service)
    let page = await visitor.get(`/device?app=${client.app.code}`)
    page = await visitor.send(page, 'Sign in', { email: user.email, password: PASSWORD })
    page = await visitor.send(page, 'Continue', { user_code: begun.user_code })
    const form = page.forms.find(({ buttons }) => buttons.has('Allow'))!
    const sent = { ...form.values, ...form.buttons.get('Allow') }
    return async () => {
      const reply = await visitor.post(new URL(form.action, service.url).href, sent)
      return { status: reply.status, body: await reply.text() }
    }
  },
}

const provider = fixture(() => startProvider([callbackOf('acme')], onFileEnd))
beforeAll(async () => {
  await buildSsoProvider(service, 'acme', { issuer: provider.issuer })
})

const publicWays: Record<string, (app: Json) => Promise<() => Promise<Reply>>> = {
  'a magic link': async (app) => {
    const { user } = await buildUser(service, app)
    await service.call('POST', '/auth/magic-link', { body: { email: user.email, app_code: app.code } })
    const { token } = await mailbox.take(user.email, /^Sign in to/)
    return () => service.call('POST', '/auth/magic-link/consume', { body: { token } })
  },
  'an answer of a provider': async (app) => {
    const { user } = await buildUser(service, app)
    const subject = provider.addAccount({ email: user.email, email_verified: true })
    const arrived = await arrive(service, { provider, code: 'acme', app, subject })
    return () => exchange(service, arrived)
  },
  'a refresh token of the API': async (app) => {
    const { refresh_token } = await buildUser(service, app)
    return () => service.call('POST', '/auth/refresh', { body: { refresh_token } })
  },
  'a change of the password': async (app) => {
    const { access_token: token } = await buildUser(service, app)
    const body = { current_password: PASSWORD, new_password: `${PASSWORD} 2` }
    return () => service.call('POST', '/auth/password/change', { token, body })
  },
}

/** Codes of devices that are typed at the same moment count as wrong ones until they are found, and only five may be wrong. */
async function oneByOne<T>(prepare: () => Promise<T>): Promise<T[]> {
  const prepared: T[] = []
  while (prepared.length < people) prepared.push(await prepare())
  return prepared
}

async function race(app: Json, steps: (() => Promise<Reply>)[], seed: number) {
  const order = chance(seed)
  const deletion = order.soon(4, () => service.admin('DELETE', `/admin/apps/${app.code}?force=true`))
  const replies = await atOnce(steps.length, (index) => order.soon(8, steps[index]!))
  expect((await deletion).status).toBe(204)
  expect(replies.filter(({ status }) => status >= 500).map(({ body }) => body)).toEqual([])
  for (const table of ['sessions', 'user_apps', 'authorization_codes', 'device_codes', 'mail_tokens'])
    expect(await service.deps.db(table).where({ app_id: app.id })).toEqual([])
}

test.each(Object.entries(ways))(
  '%s of a confidential app, used while the app is deleted, causes no server error and leaves nothing behind',
  async (_, way) => {
    for (let round = 0; round < rounds; round += 1) {
      const client = await buildClient(service, { device_grant: true })
      await race(client.app, await oneByOne(() => way(client)), round)
    }
  },
)

test.each(Object.entries(publicWays))(
  '%s of a public app, used while the app is deleted, causes no server error and leaves nothing behind',
  async (_, way) => {
    for (let round = 0; round < rounds; round += 1) {
      const { app } = await buildClient(service, { client: 'public', allowed_redirect_urls: [REDIRECT_URL] })
      await race(app, await oneByOne(() => way(app)), round)
    }
  },
)

test('a registration that waits for an app that is being deactivated makes no account and gives no tokens', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  // The server knows the app as it was.
  expect((await service.register(someEmail(), app.code)).status).toBe(201)
  const email = someEmail()
  let registering: Promise<Reply> | undefined
  await transaction(service.deps, async (deps) => {
    await forUpdate(deps.db, App.find(deps.db, { id: app.id }))
    registering = service.register(email, app.code)
    // On SQLite it waits before it has read anything.
    const waiting = () =>
      service.deps.db('pg_stat_activity').where({ wait_event_type: 'Lock' }).whereRaw('datname = current_database()').first('pid')
    if (testDatabase() === 'postgres') await until(waiting, 'a call that waits')
    await renewCatalog(deps)
    await App.update(deps.db, { id: app.id }, { status: 'inactive' })
  })
  expect((await registering)!.body).toMatchObject({ code: 'app_inactive' })
  expect(await service.deps.db('users').where({ email })).toEqual([])
})
