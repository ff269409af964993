// Clients that nobody here wrote run the whole code flow, unmodified, from the metadata document alone.
import * as oauth from 'oauth4webapi'
import * as oidc from 'openid-client'
import { expect, test } from 'vitest'
import { appFixture, fixture, serviceFixture } from '../support/fixtures.ts'
import { buildUser, PASSWORD } from '../support/service.ts'
import { visit } from '../support/sign-in-page.ts'

const atAnyPort = serviceFixture()
/** A service whose PUBLIC_URL is where it really is, since clients compare the two. */
const service = fixture(async () => {
  atAnyPort.deps.config.publicUrl = atAnyPort.url
  return atAnyPort
})
const redirectUri = 'https://shop.example/callback'
const shop = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls: [redirectUri] })

/** What a person does in the browser between the two halves of the flow. */
async function signIn(url: URL): Promise<{ at: URL; userId: string }> {
  const { user } = await buildUser(service, shop)
  const visitor = visit(service)
  const page = await visitor.get(url.pathname + url.search)
  const { app } = await visitor.send(page, 'Sign in', { email: user.email, password: PASSWORD })
  return { at: app!, userId: user.id }
}

test('openid-client signs in, refreshes and revokes', async () => {
  const execute = [oidc.allowInsecureRequests]
  const client = await oidc.discovery(new URL(service.url), shop.code, undefined, oidc.None(), { algorithm: 'oauth2', execute })
  expect(client.serverMetadata().supportsPKCE()).toBe(true)
  const verifier = oidc.randomPKCECodeVerifier()
  const state = oidc.randomState()
  const url = oidc.buildAuthorizationUrl(client, {
    redirect_uri: redirectUri,
    scope: 'profile email offline_access',
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
  })
  const { at, userId } = await signIn(url)
  const tokens = await oidc.authorizationCodeGrant(client, at, { pkceCodeVerifier: verifier, expectedState: state })
  expect(tokens.scope).toBe('profile email offline_access')
  const me = async (token: string) => (await service.call('GET', '/auth/me', { token })).body
  expect((await me(tokens.access_token)).user.id).toBe(userId)
  const renewed = await oidc.refreshTokenGrant(client, tokens.refresh_token!)
  expect((await me(renewed.access_token)).user.id).toBe(userId)
  await oidc.tokenRevocation(client, renewed.refresh_token!)
  expect((await me(renewed.access_token)).code).toBe('token_revoked')
  await expect(oidc.refreshTokenGrant(client, renewed.refresh_token!)).rejects.toMatchObject({ error: 'invalid_grant' })
})

test('openid-client understands an error that the page sends back', async () => {
  const execute = [oidc.allowInsecureRequests]
  const client = await oidc.discovery(new URL(service.url), shop.code, undefined, oidc.None(), { algorithm: 'oauth2', execute })
  const verifier = oidc.randomPKCECodeVerifier()
  const url = oidc.buildAuthorizationUrl(client, {
    redirect_uri: redirectUri,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: 'a state',
    prompt: 'none',
  })
  const { app } = await visit(service).get(url.pathname + url.search)
  const granted = oidc.authorizationCodeGrant(client, app!, { pkceCodeVerifier: verifier, expectedState: 'a state' })
  await expect(granted).rejects.toMatchObject({ error: 'login_required' })
})

test('oauth4webapi signs in, refreshes and revokes', async () => {
  const insecure = { [oauth.allowInsecureRequests]: true }
  const issuer = new URL(service.url)
  const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
  const server = await oauth.processDiscoveryResponse(issuer, found)
  const client: oauth.Client = { client_id: shop.code }
  const none = oauth.None()
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const url = new URL(server.authorization_endpoint!)
  url.search = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
  }).toString()
  const { at } = await signIn(url)
  const parameters = oauth.validateAuthResponse(server, client, at, state)
  const exchange = () => oauth.authorizationCodeGrantRequest(server, client, none, parameters, redirectUri, verifier, insecure)
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, await exchange())
  const renew = async (token: string) =>
    oauth.processRefreshTokenResponse(server, client, await oauth.refreshTokenGrantRequest(server, client, none, token, insecure))
  const renewed = await renew(tokens.refresh_token!)
  await oauth.processRevocationResponse(await oauth.revocationRequest(server, client, none, renewed.refresh_token!, insecure))
  await expect(renew(renewed.refresh_token!)).rejects.toMatchObject({ error: 'invalid_grant' })
  const reused = oauth.processAuthorizationCodeResponse(server, client, await exchange())
  await expect(reused).rejects.toMatchObject({ error: 'invalid_grant' })
})

test('oauth4webapi refuses an answer that another issuer mixed in', async () => {
  const server: oauth.AuthorizationServer = {
    issuer: 'https://evil.example',
    authorization_response_iss_parameter_supported: true,
  }
  const client: oauth.Client = { client_id: shop.code }
  const url = new URL(`${service.url}/oauth/authorize`)
  const verifier = oauth.generateRandomCodeVerifier()
  url.search = new URLSearchParams({
    client_id: shop.code,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: 'state',
  }).toString()
  const { at } = await signIn(url)
  expect(() => oauth.validateAuthResponse(server, client, at, 'state')).toThrow(/iss/)
})
