// Clients that nobody here wrote sign people in, unmodified, each from the configuration that `authctl app show --as` prints.
import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import * as oauth from 'oauth4webapi'
import * as oidc from 'openid-client'
import { describe, expect, test } from 'vitest'
import { startApache } from '../support/apache.ts'
import { signInWithAuthlib } from '../support/authlib.ts'
import { freePort } from '../support/free-port.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type Visitor, visit } from '../support/sign-in-page.ts'
import { addUser, gatehouseFixture, type Machine, parsed } from './sandbox.ts'

const port = await freePort()
const url = `http://localhost:${port}`
const { service, signedInOnce } = gatehouseFixture({ PORT: String(port), HOST: '127.0.0.1', PUBLIC_URL: url })
const person = { email: 'grace@example.com', password: 'a fine password', first_name: 'Grace', last_name: 'Hopper' }

/** A product's app, and its configuration. */
async function standardApp(code: string, redirect: string): Promise<{ here: Machine; created: Record<string, string> }> {
  const here = await signedInOnce()
  expect(service.url).toBeDefined()
  const created = parsed(
    await here.authctl(`app create ${code} --name ${code} --redirect ${redirect} --standard --auto-grant --json`),
  )
  return { here, created }
}

async function signUp(here: Machine, code: string): Promise<Visitor> {
  const email = `${code}-${person.email}`
  await addUser(here, { ...person, email })
  await here.authctl(`grant add --app ${code} --user ${email}`)
  return visit({ url })
}

/** What a person does in the browser between the two halves of the flow. */
async function signIn(visitor: Visitor, code: string, path: string): Promise<URL> {
  const page = await visitor.get(path)
  const arrival = page.app
    ? page
    : await visitor.send(page, 'Sign in', { email: `${code}-${person.email}`, password: person.password })
  return arrival.app!
}

test('app create --standard makes a confidential app with a signing key and a client secret of its own', async () => {
  const { here, created } = await standardApp('standard', 'https://standard.example.com/callback')
  expect(created).toMatchObject({ client: 'confidential', signing: 'own', permission_scope: 'roles' })
  expect(created.client_secret).toMatch(/^gcs_/)
  const signing = parsed(await here.authctl('app signing standard --json'))
  expect(signing).toMatchObject({ state: 'settled', signing: 'own' })
  expect((await here.authctl('app create other --name Other --standard --dry-run')).stdout).not.toContain('gcs_')
})

test('app show --as prints a configuration for each product, and says which were never tried', async () => {
  const { here } = await standardApp('products', 'https://wiki.example.com/private/callback')
  const tried = ['apache']
  for (const product of ['apache', 'grafana', 'gitlab', 'gitea', 'nextcloud', 'oauth2-proxy']) {
    const { stdout, stderr } = await here.authctl(`app show products --as ${product}`)
    for (const value of ['products', 'replace-with-the-client-secret']) expect(stdout).toContain(value)
    expect(/^[#;] not tried/.test(stdout)).toBe(!tried.includes(product))
    expect(stderr).toContain('authctl app client-secret new products')
  }
  const generic = parsed(await here.authctl('app show products --as generic --json'))
  expect(generic).toMatchObject({ issuer: url, client_id: 'products', redirect_uri: 'https://wiki.example.com/private/callback' })
  const withSecret = await here.authctl('app show products --as gitlab --new-secret')
  expect(withSecret.stdout).toMatch(/secret: "gcs_[\w-]{43}"/)
  expect(await here.authctl('app show products --new-secret')).toMatchObject({ exit: 2 })
  await here.authctl('app create nowhere --name Nowhere --redirect https://nowhere.example.com/*')
  expect(await here.authctl('app show nowhere --as generic')).toMatchObject({ exit: 6 })
})

describe('clients with the output of app show --as generic', () => {
  test('openid-client signs in, checks the ID token, asks userinfo, refreshes and revokes', async () => {
    const { here } = await standardApp('panva', 'https://panva.example.com/callback')
    const shown = parsed(await here.authctl('app show panva --as generic --new-secret --json'))
    const execute = [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks]
    const authentication = oidc.ClientSecretBasic(shown.client_secret)
    const client = await oidc.discovery(new URL(shown.issuer), shown.client_id, {}, authentication, { execute })
    const visitor = await signUp(here, 'panva')
    const verifier = oidc.randomPKCECodeVerifier()
    const [state, nonce] = [oidc.randomState(), oidc.randomNonce()]
    const asked = oidc.buildAuthorizationUrl(client, {
      ...{ redirect_uri: shown.redirect_uri, scope: shown.scope, state, nonce },
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: shown.code_challenge_method,
    })
    const at = await signIn(visitor, 'panva', asked.href)
    const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true }
    const tokens = await oidc.authorizationCodeGrant(client, at, checks)
    const claims = tokens.claims()!
    expect(claims).toMatchObject({ iss: url, aud: 'panva', name: 'Grace Hopper' })
    const told = await oidc.fetchUserInfo(client, tokens.access_token, claims.sub)
    expect(told).toMatchObject({ sub: claims.sub, given_name: 'Grace', roles: expect.any(Array), groups: [] })
    const renewed = await oidc.refreshTokenGrant(client, tokens.refresh_token!)
    await oidc.tokenRevocation(client, renewed.refresh_token!)
    await expect(oidc.fetchUserInfo(client, renewed.access_token, claims.sub)).rejects.toThrow()
    const leaving = oidc.buildEndSessionUrl(client, {
      ...{ id_token_hint: tokens.id_token!, post_logout_redirect_uri: shown.redirect_uri, state: 'bye' },
    })
    expect((await visitor.get(leaving.href)).app?.href).toBe(`${shown.redirect_uri}?state=bye`)
  })

  test('oauth4webapi signs in without PKCE, by the nonce alone, and checks signature and nonce', async () => {
    const { here } = await standardApp('webapi', 'https://webapi.example.com/callback')
    const shown = parsed(await here.authctl('app show webapi --as generic --new-secret --json'))
    const insecure = { [oauth.allowInsecureRequests]: true }
    const issuer = new URL(shown.issuer)
    const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure))
    const client: oauth.Client = { client_id: shown.client_id }
    const authentication = oauth.ClientSecretPost(shown.client_secret)
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
    const asked = new URL(server.authorization_endpoint!)
    asked.search = new URLSearchParams({
      ...{ client_id: client.client_id, redirect_uri: shown.redirect_uri, response_type: 'code', scope: 'openid' },
      ...{ state, nonce },
    }).toString()
    const at = await signIn(await signUp(here, 'webapi'), 'webapi', asked.href)
    const parameters = oauth.validateAuthResponse(server, client, at, state)
    const exchange = () =>
      oauth.authorizationCodeGrantRequest(server, client, authentication, parameters, shown.redirect_uri, oauth.nopkce, insecure)
    const reply = await exchange()
    const again = reply.clone()
    const checks = { expectedNonce: nonce, requireIdToken: true }
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, reply, checks)
    await oauth.validateApplicationLevelSignature(server, reply, insecure)
    expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ aud: 'webapi', nonce })
    const otherNonce = oauth.processAuthorizationCodeResponse(server, client, again, { expectedNonce: 'another' })
    await expect(otherNonce).rejects.toThrow(/nonce/)
  })
})

test('Authlib (Python) signs in, checks signature, nonce and at_hash, asks userinfo and refreshes', async () => {
  const { here } = await standardApp('authlib', 'https://authlib.example.com/callback')
  const shown = parsed(await here.authctl('app show authlib --as generic --new-secret --json'))
  const visitor = await signUp(here, 'authlib')
  const answer = await signInWithAuthlib<Record<string, unknown>>(
    shown,
    async (asked) => (await signIn(visitor, 'authlib', asked)).href,
  )
  expect(answer).toMatchObject({
    claims: { aud: 'authlib', name: 'Grace Hopper', at_hash: expect.any(String) },
    userinfo: { given_name: 'Grace' },
    renewed: 'Bearer',
  })
})

describe('a web server', () => {
  test('Apache protects a folder with the output of app show --as apache, and uses an existing sign-in', async () => {
    const apachePort = await freePort()
    const site = `http://localhost:${apachePort}`
    const { here } = await standardApp('intranet', `${site}/private/callback`)
    await here.authctl(`app create elsewhere --name Elsewhere --redirect https://elsewhere.example.com/cb --auto-grant`)
    const { stdout } = await here.authctl('app show intranet --as apache --new-secret')
    await startApache(apachePort, stdout, onFileEnd)
    expect((await (await fetch(`${site}/`)).text()).trim()).toBe('public')

    const visitor = await signUp(here, 'elsewhere')
    // The grant for the folder, from an earlier visit.
    const here2 = await here.authctl(`grant add --app intranet --user elsewhere-${person.email}`)
    expect(here2.exit).toBe(0)
    await signIn(visitor, 'elsewhere', await pathFor('elsewhere', 'https://elsewhere.example.com/cb'))

    const browser = jar()
    const begun = await browser.get(`${site}/private/`)
    expect(begun.status).toBe(302)
    const { app } = await visitor.get(begun.headers.location!)
    expect(app?.origin, 'no page was shown').toBe(site)
    const back = await browser.get(app!.href)
    expect(back.status).toBe(302)
    const page = await browser.get(new URL(back.headers.location!, site).href)
    expect([page.status, page.text]).toEqual([200, 'private'])
    expect(page.headers['x-remote-user']).toMatch(/^[0-9a-f-]{36}/)

    // Somebody without cookies is sent to sign in, and a made-up answer lets nobody in.
    expect((await jar().get(`${site}/private/`)).status).toBe(302)
    expect((await jar().get(`${site}/private/callback?code=gac_made_up&state=x`)).status).toBeGreaterThanOrEqual(400)
  })
})

async function pathFor(code: string, redirect: string): Promise<string> {
  const challenge = await oidc.calculatePKCECodeChallenge(oidc.randomPKCECodeVerifier())
  const query = {
    client_id: code,
    redirect_uri: redirect,
    response_type: 'code',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  }
  return `/oauth/authorize?${new URLSearchParams(query)}`
}

/** Another site in the same browser. The `fetch` of Node says that it is a script, which Apache sends nowhere. */
function jar() {
  const cookies = new Map<string, string>()
  return {
    async get(address: string): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const reply = await new Promise<IncomingMessage>((resolve, reject) =>
        get(address, { headers: { cookie, accept: 'text/html' } }, resolve).on('error', reject),
      )
      for (const line of reply.headers['set-cookie'] ?? []) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        if (name !== undefined) cookies.set(name, value ?? '')
      }
      const text = (await reply.toArray()).join('')
      return { status: reply.statusCode ?? 0, headers: reply.headers, text }
    },
  }
}
