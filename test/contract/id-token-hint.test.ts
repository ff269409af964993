// Whom an app expects to come back: an ID token that it was given earlier, in an authorization request.
import { describe, expect, test } from 'vitest'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { buildClient, type Client, signInAs } from '../support/openid.ts'
import { PASSWORD } from '../support/service.ts'
import { type Arrival, askFor, type Visitor } from '../support/sign-in-page.ts'

const service = serviceFixture({ AUTH_RATE_LIMIT_IP: 'off' }, { frozen: true })
const wiki: Client = fixture(() => buildClient(service))

describe('an id_token_hint of an authorization request', () => {
  const askWith = async (visitor: Visitor, hint: string, more: Record<string, string> = {}) => {
    const asked = askFor(wiki.app, { scope: 'openid', nonce: 'n', id_token_hint: hint, ...more })
    return { asked, arrival: await visitor.get(asked.path) }
  }
  const errorOf = ({ app }: Arrival) => app?.searchParams.get('error')

  test('the hint signs its user in, also after it expired, with and without prompt=none', async () => {
    const { visitor, tokens } = await signInAs(service, wiki)
    service.advance(3_600)
    for (const more of [{}, { prompt: 'none' }] as Record<string, string>[]) {
      const { arrival } = await askWith(visitor, tokens.id_token, more)
      expect(arrival.app?.searchParams.has('code')).toBe(true)
    }
  })

  test('the hint of another user asks for that user, and the app learns if somebody else has signed in', async () => {
    const [ada, eve] = [await signInAs(service, wiki), await signInAs(service, wiki)]
    service.advance(1)
    expect(errorOf((await askWith(eve.visitor, ada.tokens.id_token, { prompt: 'none' })).arrival)).toBe('login_required')
    const { arrival } = await askWith(eve.visitor, ada.tokens.id_token)
    expect(arrival.title).toBe('Sign in')
    expect(arrival.html).not.toContain(eve.user.email)
    const signIn = (email: string) => eve.visitor.send(arrival, 'Sign in', { email, password: PASSWORD })
    expect(errorOf(await signIn(eve.user.email))).toBe('login_required')
    expect((await signIn(ada.user.email)).app?.searchParams.has('code')).toBe(true)
  })

  test('a hint that is forged, of another app or not an ID token asks for a new sign-in and shows nothing about the user', async () => {
    const other = await buildClient(service)
    const { visitor, user, tokens } = await signInAs(service, wiki)
    const [, claims] = tokens.id_token.split('.')
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    const foreign = await signInAs(service, other, {}, { user })
    service.advance(1)
    for (const hint of [
      `${tokens.id_token.slice(0, -8)}AAAAAAAA`,
      `${none}.${claims}.`,
      foreign.tokens.id_token,
      tokens.access_token,
      'x',
    ]) {
      expect(errorOf((await askWith(visitor, hint, { prompt: 'none' })).arrival)).toBe('login_required')
      const { arrival } = await askWith(visitor, hint)
      expect(arrival.title).toBe('Sign in')
      const entered = await visitor.send(arrival, 'Sign in', { email: user.email, password: PASSWORD })
      expect(entered.app?.searchParams.has('code')).toBe(true)
      service.advance(1)
    }
  })
})
