// The configuration of products that speak OpenID Connect, ready to paste.

/** What every product has to be told. */
export interface OpenIdClient {
  issuer: string
  client_id: string
  client_secret: string
  redirect_uri: string
  scope: string
  discovery: string
  authorization_endpoint: string
  token_endpoint: string
  userinfo_endpoint: string
  jwks_uri: string
  end_session_endpoint: string
  token_endpoint_auth_method: string
  code_challenge_method: string
  id_token_signed_response_alg: string
}

export const secretPlaceholder = 'replace-with-the-client-secret'

/** Those that no test of this project runs. */
const notTried = 'not tried: written after the documentation of the product'

/** The folder that the redirect URL is in, which is what Apache protects. */
function folderOf(redirectUri: string): string {
  return new URL('.', redirectUri).pathname
}

/** The part of a product's address before the path that the product appoints. */
function originOf(redirectUri: string): string {
  return new URL(redirectUri).origin
}

interface Product {
  /** `random` gives 32 characters, for the secrets that the product keeps for itself. */
  write(client: OpenIdClient, random: () => string): string
}

export const products = {
  apache: {
    write: (client, random) => `# Apache with mod_auth_openidc. Only people with access to the app come in.
OIDCProviderMetadataURL "${client.discovery}"
OIDCClientID "${client.client_id}"
OIDCClientSecret "${client.client_secret}"
OIDCProviderTokenEndpointAuth client_secret_basic
OIDCRedirectURI "${client.redirect_uri}"
OIDCScope "${client.scope}"
OIDCPKCEMethod S256
OIDCRemoteUserClaim sub
OIDCCryptoPassphrase "${random()}"
<Location "${folderOf(client.redirect_uri)}">
  AuthType openid-connect
  Require valid-user
</Location>`,
  },
  grafana: {
    write: (client) => `; ${notTried}
; grafana.ini. The redirect URL of the app: ${originOf(client.redirect_uri)}/login/generic_oauth
[auth.generic_oauth]
enabled = true
name = Single sign-on
client_id = ${client.client_id}
client_secret = ${client.client_secret}
scopes = ${client.scope}
auth_url = ${client.authorization_endpoint}
token_url = ${client.token_endpoint}
api_url = ${client.userinfo_endpoint}
signout_redirect_url = ${client.end_session_endpoint}?client_id=${client.client_id}
use_pkce = true
use_refresh_token = true
login_attribute_path = email
name_attribute_path = name
groups_attribute_path = groups`,
  },
  gitlab: {
    write: (client) => `# ${notTried}
# /etc/gitlab/gitlab.rb. The redirect URL of the app: ${originOf(client.redirect_uri)}/users/auth/openid_connect/callback
gitlab_rails['omniauth_providers'] = [
  {
    name: "openid_connect",
    label: "Single sign-on",
    args: {
      name: "openid_connect",
      scope: [${client.scope
        .split(' ')
        .map((scope) => `"${scope}"`)
        .join(', ')}],
      response_type: "code",
      issuer: "${client.issuer}",
      discovery: true,
      client_auth_method: "basic",
      uid_field: "sub",
      pkce: true,
      client_options: {
        identifier: "${client.client_id}",
        secret: "${client.client_secret}",
        redirect_uri: "${client.redirect_uri}"
      }
    }
  }
]`,
  },
  gitea: {
    write: (client) => `# ${notTried}
# The redirect URL of the app: ${originOf(client.redirect_uri)}/user/oauth2/gatehouse/callback
# It needs a version of Gitea that sends a PKCE challenge.
gitea admin auth add-oauth --name gatehouse --provider openidConnect \\
  --auto-discover-url '${client.discovery}' \\
  --key '${client.client_id}' --secret '${client.client_secret}' \\
  ${client.scope
    .split(' ')
    .map((scope) => `--scopes ${scope}`)
    .join(' ')}`,
  },
  nextcloud: {
    write: (client) => `# ${notTried}
# The app user_oidc. The redirect URL of the app: ${originOf(client.redirect_uri)}/apps/user_oidc/code
occ user_oidc:provider gatehouse \\
  --clientid='${client.client_id}' --clientsecret='${client.client_secret}' \\
  --discoveryuri='${client.discovery}' \\
  --scope='${client.scope}' --unique-uid=1 --mapping-uid=sub --mapping-display-name=name --mapping-email=email`,
  },
  'oauth2-proxy': {
    write: (client, random) => `# ${notTried}
# oauth2-proxy.cfg. The redirect URL of the app: ${originOf(client.redirect_uri)}/oauth2/callback
provider = "oidc"
oidc_issuer_url = "${client.issuer}"
client_id = "${client.client_id}"
client_secret = "${client.client_secret}"
redirect_url = "${client.redirect_uri}"
scope = "${client.scope}"
code_challenge_method = "S256"
email_domains = ["*"]
cookie_secret = "${random()}"`,
  },
} satisfies Record<string, Product>

/** `generic` is a list of the values, for any other product or library. */
export const productNames = ['generic', ...(Object.keys(products) as (keyof typeof products)[])] as const
