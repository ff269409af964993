import { randomBytes } from 'node:crypto'
import type { components } from '@gatehouse/sdk/admin'
import { bodyOf } from '../../api/api-client.ts'
import { Failure, usageFailure } from '../../command-line/exit-codes.ts'
import { choice, flag } from '../../command-line/options.ts'
import { appSubject, parseAppRef } from '../../nouns/app-ref.ts'
import { type OpenIdClient, productNames, products, secretPlaceholder } from '../../nouns/openid-products.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

export const showApp = command({
  path: 'app show',
  options: {
    code: appSubject,
    as: choice(productNames, 'Print what to configure at a product that speaks OpenID Connect; generic lists the values'),
    newSecret: flag('With --as: give the app a client secret, and print it in its place'),
  },
  summary: 'Show an app with all its settings, or what to configure at a product',
  description:
    'A configuration has a placeholder for the client secret, which the service does not know any more. What was never run with a ' +
    'product says so in its first line.',
  examples: ['app show shop', 'app show wiki --as apache --new-secret > wiki.conf', 'app show charts --as grafana'],
  async run(tools, { code, as, newSecret }) {
    const { api, io } = tools
    const path = { appId: parseAppRef(code) }
    if (newSecret && as === undefined) throw usageFailure('--new-secret requires --as')
    const app = await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path } }))
    if (as === undefined) return record(app)
    const client = await clientOf(tools, app)
    if (newSecret) {
      const { secret } = await bodyOf(api.POST('/api/v1/admin/apps/{appId}/client-secrets', { params: { path } }))
      client.client_secret = secret ?? secretPlaceholder
    } else io.note(`${secretPlaceholder}: authctl app client-secret new ${app.code} prints a secret`)
    if (app.client !== 'confidential')
      io.note(`${app.code} is public: authctl app update ${app.code} --client confidential makes it ask for the secret`)
    if (as === 'generic') return record(client)
    return { kind: 'body', body: products[as].write(client, () => randomBytes(24).toString('base64url')) }
  },
})

/** What a product has to be told about an app, with the placeholder for its secret. */
async function clientOf({ api }: Tools, app: components['schemas']['App']): Promise<OpenIdClient> {
  const redirect = app.allowed_redirect_urls.find((url) => /^https?:/.test(url) && !url.endsWith('*'))
  if (redirect === undefined)
    throw new Failure('invalid', `${app.code} has no redirect URL without * that a product could use`, {
      code: 'no_redirect_url',
      hint: `authctl app update ${app.code} --redirect URL`,
    })
  const found = (await bodyOf(api.GET('/.well-known/openid-configuration'))) as Record<string, string>
  const endpoint = (name: string) => String(found[name])
  return {
    issuer: endpoint('issuer'),
    client_id: app.code,
    client_secret: secretPlaceholder,
    // A quote would end a value where the configuration has it in quotes.
    redirect_uri: redirect.replaceAll('"', '%22').replaceAll("'", '%27'),
    scope: 'openid profile email roles groups',
    discovery: `${endpoint('issuer')}/.well-known/openid-configuration`,
    authorization_endpoint: endpoint('authorization_endpoint'),
    token_endpoint: endpoint('token_endpoint'),
    userinfo_endpoint: endpoint('userinfo_endpoint'),
    jwks_uri: endpoint('jwks_uri'),
    end_session_endpoint: endpoint('end_session_endpoint'),
    token_endpoint_auth_method: 'client_secret_basic',
    code_challenge_method: 'S256',
    id_token_signed_response_alg: 'RS256',
  }
}
