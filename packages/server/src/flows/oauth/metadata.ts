import type { Deps } from '../../deps.ts'
import { mfa } from './authorization-request.ts'

const clientAuthentication = ['client_secret_basic', 'client_secret_post', 'none']

/** What standard clients read about this service (RFC 8414). */
export function metadataOf({ publicUrl }: Pick<Deps['config'], 'publicUrl'>) {
  const at = (path: string) => `${publicUrl}${path}`
  return {
    issuer: publicUrl,
    authorization_endpoint: at('/oauth/authorize'),
    token_endpoint: at('/oauth/token'),
    revocation_endpoint: at('/oauth/revoke'),
    end_session_endpoint: at('/oauth/logout'),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: clientAuthentication,
    revocation_endpoint_auth_methods_supported: clientAuthentication,
    scopes_supported: ['openid', 'profile', 'email', 'roles', 'groups', 'offline_access'],
    acr_values_supported: [mfa],
    prompt_values_supported: ['none', 'login', 'create'],
    authorization_response_iss_parameter_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
  }
}
