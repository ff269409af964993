// An admin sets the address of a login provider, and the provider names further addresses. Which of them does the service dial?
import { createServer, type Socket } from 'node:net'
import { beforeEach, describe, expect, test } from 'vitest'
import { productionSettings } from '../support/app-fixtures.ts'
import { expectError } from '../support/expect-reply.ts'
import { fixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { answerOf, beginSso, buildSsoProvider, callbackOf, comeBack, REDIRECT_URL, startProvider } from '../support/provider.ts'
import { buildApp, buildService, someEmail } from '../support/service.ts'

/** A private server on this machine, and how often it was dialled. */
const inside = fixture(async () => {
  const calls = { port: 0, dialled: 0 }
  const server = createServer((socket: Socket) => {
    calls.dialled += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onFileEnd(async () => void server.close())
  const address = server.address()
  if (address && typeof address === 'object') calls.port = address.port
  return calls
})
beforeEach(() => {
  inside.dialled = 0
})

async function startAt(issuer: string, settings: Record<string, string>) {
  const service = await buildService(settings)
  const app = await buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls: [REDIRECT_URL] })
  await buildSsoProvider(service, 'acme', { issuer })
  return { service, app, reply: (await beginSso(service, 'acme', app)).reply }
}

const production = { ...productionSettings, AUTH_ADMIN_APP_CODES: '*' }

describe('providers in production', () => {
  test.each(['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '2130706433', '0'])(
    'a provider at %s is not called in production',
    async (host) => {
      const { reply } = await startAt(`https://${host}:${inside.port}`, production)
      expectError(reply, 'unavailable')
      expect(inside.dialled).toBe(0)
    },
  )

  test('a provider at a host of AUTH_SSO_PRIVATE_HOSTS is called, under that very name', async () => {
    const settings = { ...production, AUTH_SSO_PRIVATE_HOSTS: 'id.corp.internal,127.0.0.1' }
    await startAt(`https://127.0.0.1:${inside.port}`, settings)
    expect(inside.dialled).toBeGreaterThan(0)
    inside.dialled = 0
    await startAt(`https://localhost:${inside.port}`, settings)
    expect(inside.dialled).toBe(0)
  })
})

describe('a provider that may be private and refers to another host', () => {
  test.each(['token_endpoint', 'jwks_uri', 'userinfo_endpoint'])(
    'the %s of a provider that may be private is judged by its own address',
    async (member) => {
      const provider = await startProvider([callbackOf('acme')])
      provider.tamper.discovery = (body) => ({ ...body, [member]: `http://localhost:${inside.port}/` })
      const settings = { AUTH_SSO_PRIVATE_HOSTS: '127.0.0.1' }
      const { service, app } = await startAt(provider.issuer, settings)
      const { reply } = await beginSso(service, 'acme', app)
      const subject = provider.addAccount({ email: someEmail(), email_verified: true })
      const back = await provider.logIn(reply.headers.get('location')!, subject)
      expect(answerOf(await comeBack(service, back)).error).toBe('temporarily_unavailable')
      expect(inside.dialled).toBe(0)
    },
  )
})

test('any host may be private outside production, unless AUTH_SSO_PRIVATE_HOSTS names some', async () => {
  const provider = await startProvider([callbackOf('acme')])
  expect((await startAt(provider.issuer, {})).reply.status).toBe(302)
  const asked = provider.asked.discovery
  expectError((await startAt(provider.issuer, { AUTH_SSO_PRIVATE_HOSTS: 'localhost' })).reply, 'unavailable')
  expect(provider.asked.discovery).toBe(asked)
})
