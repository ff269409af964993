import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { languages } from '../../lib/locale.ts'
import { deviceGrantType, mfa, scopes, standardClaimNames } from '../../lib/open-id.ts'
import { keysCachedSeconds, listPublishedKeys } from '../../resources/id-token-keys/id-token-keys.ts'
import { authorizePath } from './request-parameters.ts'

const clientAuthentication = ['client_secret_basic', 'client_secret_post', 'none']

const tokenClaimNames = ['iss', 'sub', 'aud', 'azp', 'exp', 'iat', 'auth_time', 'nonce', 'amr', 'acr', 'sid', 'at_hash']

/** What standard clients read about this service (RFC 8414, and OpenID Connect Discovery 1.0). */
export function metadataOf({ publicUrl }: Pick<Deps['config'], 'publicUrl'>) {
  const at = (path: string) => `${publicUrl}${path}`
  return {
    issuer: publicUrl,
    authorization_endpoint: at(authorizePath),
    token_endpoint: at('/oauth/token'),
    revocation_endpoint: at('/oauth/revoke'),
    end_session_endpoint: at('/oauth/logout'),
    device_authorization_endpoint: at('/oauth/device_authorization'),
    userinfo_endpoint: at('/oauth/userinfo'),
    jwks_uri: at('/oauth/jwks'),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials', deviceGrantType],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: clientAuthentication,
    revocation_endpoint_auth_methods_supported: clientAuthentication,
    scopes_supported: scopes,
    claims_supported: [...tokenClaimNames, ...standardClaimNames],
    claims_parameter_supported: false,
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    acr_values_supported: [mfa],
    ui_locales_supported: languages,
    prompt_values_supported: ['none', 'login', 'create'],
    authorization_response_iss_parameter_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
  }
}

/** The public halves of keys, as clients read them (RFC 7517). They may keep the list for as long as a next key is published. */
export async function publishKeys(deps: Deps<Pool>) {
  const keys = await listPublishedKeys(deps)
  const shown = keys.map(({ id, public_jwk }) => ({ ...JSON.parse(public_jwk), use: 'sig', alg: 'RS256', kid: id }))
  return { status: 200, body: { keys: shown }, headers: { 'Cache-Control': `public, max-age=${keysCachedSeconds}` } }
}
