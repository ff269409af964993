import { z } from 'zod'
import { MAX_TOKEN_BYTES } from '../../lib/access-token.ts'
import { id, text } from '../../lib/fields.ts'
import { tokenAnswer } from '../../lib/records.ts'

/** A parameter that is given twice is refused later, and told to the app. */
const parameter = z
  .union([z.string(), z.array(z.string())])
  .optional()
  .meta({ override: { type: 'string', anyOf: undefined } })
const described = (description: string) => parameter.meta({ description })

/** Every value is read later, since a fault of most of them is told to the app and not to the browser. */
export const authorizeQuery = z.object({
  client_id: described('Code of the app'),
  redirect_uri: described('One of the redirect URLs of the app, without `*`. Of a loopback address any port is accepted'),
  response_type: described('`code`'),
  response_mode: described('`query`'),
  code_challenge: described('PKCE: SHA-256 of the verifier, in base64url'),
  code_challenge_method: described('`S256`'),
  state: described('Comes back unchanged. At most 2,000 characters'),
  scope: described('Any of `openid profile email roles groups offline_access`'),
  nonce: described('At most 200 characters'),
  prompt: described('`none` shows nothing, `login` asks for a new sign-in, `create` shows the registration first'),
  max_age: described('Asks for a new sign-in if the last one is older, in seconds'),
  acr_values: described('`mfa`: two factors must be shown, or a passkey. With `max_age`, the older of both proofs counts'),
  login_hint: described('The e-mail address to begin with'),
  id_token_hint: described(
    'An ID token of the app, which may be expired. Somebody else than its user has to sign in; if another user does, the app gets `login_required`',
  ),
  ui_locales: described('The languages that the person reads, best first: BCP 47 tags with spaces between them'),
  organization_id: described('The organization that the tokens are for'),
  provider: described('Code of a third-party provider to go to at once'),
  method: described(
    'The way of signing in to show first: `password`, `email_code`, `magic_link`, `passkey`, or the code of a provider, as in `provider`',
  ),
  invite: described('Token of an invitation'),
  request: parameter,
  request_uri: parameter,
  account: parameter.meta({ description: 'Set by our own pages: the account page to go to, in place of an app' }),
  return_to: parameter.meta({ description: 'Set by our own pages: where the account page leads back to' }),
  device: parameter.meta({ description: 'Set by our own pages: the device whose sign-in is to be allowed' }),
  resume: parameter.meta({ description: 'Set by our own pages' }),
})

/** A field as a form sends it. A missing or repeated field counts as empty and is validated as such. */
const sent = z.string().catch('')

export const stepForm = z.object({
  request: sent,
  /** The request as it was sent, for beginning again. Nothing else is read from it. */
  query: sent,
  resume: sent,
  step: z
    .enum([
      ...(['sign_in', 'two_factor', 'agree', 'continue', 'deny', 'ask_for_access', 'another_account', 'restart'] as const),
      ...([
        'forgot',
        'magic_link',
        'ask_mail',
        'mail_code',
        'create',
        'use_passkey',
        'sign_in_instead',
        'register',
        'join',
        'set_up',
        'enrol',
      ] as const),
    ])
    .catch('sign_in'),
  purpose: z.enum(['reset_password', 'magic_link', 'verify_email']).optional().catch(undefined),
  code: sent,
  first_name: sent,
  last_name: sent,
  email: sent,
  password: sent,
  keep: sent,
  trust: sent,
  /** The answer of `navigator.credentials.get`, as JSON, and the challenge that it signs. */
  passkey: sent,
  passkey_challenge: sent,
  two_factor_code: sent,
  organization_id: sent,
  /** The provider whose button was pressed in place of the form's own. */
  provider: sent,
  /** The page whose button was pressed in place of the form's own. */
  instead: z.enum(['forgot', 'magic_link']).optional().catch(undefined),
})
export type StepForm = z.output<typeof stepForm>

export const returnQuery = z.object({
  state: sent.meta({ description: 'The state that the provider gave back' }),
  code: sent.meta({ description: 'Stands for the answer of the provider' }),
  error: sent.meta({ description: '`access_denied`, `temporarily_unavailable` or `server_error`' }),
})
export const mailQuery = z.object({ token: sent.meta({ description: 'The token of the mail' }) })
export type ReturnQuery = z.output<typeof returnQuery>

/** An access token or an ID token, which is longer than other texts where a user has many roles. */
const jwt = z.string().max(MAX_TOKEN_BYTES)

/** Standard clients send a form, and may add parameters of their own. */
export const tokenBody = z
  .object({
    grant_type: text.meta({
      description:
        '`authorization_code`, `refresh_token`, `client_credentials` or `urn:ietf:params:oauth:grant-type:device_code`',
    }),
    client_id: text.optional().meta({ description: 'Code of the app' }),
    code: text.optional(),
    redirect_uri: text.optional().meta({ description: 'The one that the code was sent to' }),
    code_verifier: text.optional(),
    refresh_token: text.optional(),
    device_code: text.optional().meta({ description: 'Of a device that waits' }),
    organization_id: id.optional().meta({ description: 'With `refresh_token`: goes on for this organization' }),
    app_code: text.optional().meta({ description: 'With `client_credentials`: the app that the token is for' }),
    client_secret: text.optional().meta({
      format: 'password',
      description:
        'The client secret of a confidential app, in place of an `Authorization` header. With `client_credentials`: the token of the service account',
    }),
  })
  .meta({ id: 'OAuthTokenRequest' })
export type TokenInput = z.output<typeof tokenBody>

export const oauthTokens = tokenAnswer
  .partial()
  .extend({
    token_type: z.literal('Bearer'),
    access_token: z.string(),
    expires_in: z.int(),
    scope: z.string().optional(),
    id_token: z.string().optional(),
  })
  .meta({
    id: 'OAuthTokens',
    description:
      'The answer of a login, with an ID token if `openid` was asked for. `client_credentials` gives a machine token alone',
  })

export const revokeBody = z
  .object({
    token: jwt.min(1).meta({ description: 'A refresh token, or an access token' }),
    token_type_hint: text.optional(),
    client_id: text.optional(),
    client_secret: text.optional().meta({ format: 'password', description: 'The client secret of a confidential app' }),
  })
  .meta({ id: 'OAuthRevocation' })

export const deviceAuthorizationBody = z
  .object({
    client_id: text.optional().meta({ description: 'Code of the app' }),
    client_secret: text.optional().meta({ format: 'password', description: 'The client secret of a confidential app' }),
    scope: text.optional().meta({ description: 'As in an authorization request' }),
  })
  .meta({ id: 'DeviceAuthorizationRequest' })

export const deviceAuthorization = z
  .object({
    device_code: z.string(),
    user_code: z.string().meta({ description: 'Eight letters and a hyphen, for the person to type' }),
    verification_uri: z.string().meta({ description: 'Where they type it' }),
    expires_in: z.int(),
    interval: z.int().meta({ description: 'How many seconds the device waits between two calls of the token endpoint' }),
  })
  .meta({ id: 'DeviceAuthorization' })

export const devicePageQuery = z.object({
  app: sent.meta({ description: 'Code of the app. Default: that of AUTH_DEFAULT_APP_CODE, or else authctl' }),
  said: sent.meta({ description: 'Set by our own pages' }),
})

export const deviceForm = z.object({
  request: sent,
  /** As in a step of the sign-in page. */
  query: sent,
  user_code: sent,
})

export const logoutQuery = z.object({
  client_id: text.optional(),
  post_logout_redirect_uri: text.optional(),
  state: text.optional(),
  id_token_hint: jwt.optional(),
  ui_locales: text.optional(),
  done: text.optional().meta({ description: 'Set by our own pages' }),
})

export const logoutForm = z.object({
  request: sent,
  /** As in a step of the sign-in page. */
  query: sent,
})

export const userinfoForm = z
  .object({ access_token: jwt.optional().meta({ description: 'In place of an `Authorization` header' }) })
  .meta({ id: 'UserinfoRequest' })

export const userinfoRecord = z
  .object({
    sub: z.string(),
    name: z.string().optional(),
    given_name: z.string().optional(),
    family_name: z.string().optional(),
    locale: z.string().optional(),
    email: z.string().optional().meta({ description: "Only if its mailbox was proven to be the user's" }),
    email_verified: z.literal(true).optional(),
    roles: z.array(z.string()).optional(),
    groups: z.array(z.string()).optional().meta({ description: 'Slugs of the organizations of the user' }),
  })
  .meta({ id: 'Userinfo', description: 'By the scopes that the session was opened with' })

export const jwksRecord = z
  .object({
    keys: z.array(
      z.object({
        ...{ kty: z.literal('RSA'), use: z.literal('sig'), alg: z.literal('RS256') },
        ...{ kid: z.string(), n: z.string(), e: z.string() },
      }),
    ),
  })
  .meta({ id: 'JsonWebKeySet' })

export const metadataRecord = z.looseObject({ issuer: z.string() }).meta({ id: 'AuthorizationServerMetadata' })
