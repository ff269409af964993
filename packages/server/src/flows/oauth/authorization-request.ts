import type { Deps } from '../../deps.ts'
import { accountPath, accountSections } from '../../lib/account-sections.ts'
import { hasScope, mfa, scopes } from '../../lib/open-id.ts'
import { hasAnswerMember, isExactRedirectUrl, withAnswer } from '../../lib/redirect-url.ts'
import { isUuid } from '../../lib/uuid.ts'
import type { App } from '../../models/app.ts'
import type { DeviceCodeRow } from '../../models/device-code.ts'
import { readCatalog } from '../../resources/catalog/catalog.ts'
import { type StepResult, sealField } from '../sign-in/sealed-fields.ts'
import { readIdTokenHint } from './id-token.ts'
import {
  authorizePath,
  type GivenParameters,
  hashOfQuery,
  parameterNames,
  queryOf,
  type SentParameters,
} from './request-parameters.ts'

const prompts = ['none', 'login', 'create'] as const
const ownMethods = ['password', 'email_code', 'magic_link', 'passkey'] as const
type SignInMethod = (typeof ownMethods)[number]

/** What an app asks for, checked. */
export interface AuthorizationRequest {
  app: App
  redirectUri: string
  /** Absent only for a confidential app that sends a nonce in its place. */
  codeChallenge: string | undefined
  state: string | undefined
  scope: string
  nonce: string | undefined
  prompt: (typeof prompts)[number] | undefined
  maxAgeSeconds: number | undefined
  /** Whether two factors must have been shown (`acr_values=mfa`). A passkey is both. */
  demandsMfa: boolean
  loginHint: string | undefined
  /** Whom the app expects, by an ID token that it was given earlier. Null if the token is not one of ours for this app. */
  hintedUserId?: string | null | undefined
  /** The languages that the app asks for, as it sent them. */
  uiLocales: string | undefined
  organizationId: string | undefined
  provider: string | undefined
  /** The way of signing in to show first. */
  method: SignInMethod | undefined
  invite: string | undefined
  /** Whether it is for the account page, which stands in for an app: nobody gets a code. `app` is whose pools and look count. */
  isForAccount: boolean
  /** The sealed field that names the device that it is for. */
  deviceField?: string
  /** The device, once the field was opened in its browser. */
  device?: DeviceCodeRow
  /** The same request as a query, in one order, for carrying it. */
  query: string
  /** When it began, in milliseconds. A proof that it demands must be newer. */
  begunAt: number
}

/** Errors of RFC 6749, OpenID Connect Core and RFC 9470 that an app gets back. */
type RedirectedError =
  | 'invalid_request'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'login_required'
  | 'interaction_required'
  | 'access_denied'
  | 'unmet_authentication_requirements'

/** Why a request is answered with a page: until app and redirect URL are known to be good, nobody is sent anywhere. */
export type RequestFault = 'unknown_app' | 'inactive_app' | 'redirect_missing' | 'redirect_unknown' | 'redirect_prefixes_only'

export type ReadRequest =
  | { request: AuthorizationRequest }
  /** Sends the browser back to the app, with an error. */
  | { location: string }
  | { fault: RequestFault; app: App | undefined }

const mostState = 2_000
const mostNonce = 200
const knownScopes: readonly string[] = scopes

/** Reads an authorization request. App, redirect URL and policy are read at every step, so a change applies to the next one. */
export async function readAuthorizationRequest(
  deps: Deps,
  sent: SentParameters,
  begunAt: number,
  generation?: string,
): Promise<ReadRequest> {
  const { client_id: clientId, redirect_uri: redirectUri } = sent
  const app = typeof clientId === 'string' ? await (await readCatalog(deps, generation)).findApp({ code: clientId }) : undefined
  if (!app) return { fault: 'unknown_app', app: undefined }
  if (app.status !== 'active') return { fault: 'inactive_app', app }
  if (sent.account !== undefined) return readAccountRequest(deps, app, sent, begunAt)
  if (sent.device !== undefined) return readDeviceRequest(deps, app, sent, begunAt)
  if (typeof redirectUri !== 'string' || redirectUri === '') return { fault: 'redirect_missing', app }
  if (app.allowed_redirect_urls.length > 0 && app.allowed_redirect_urls.every((rule) => rule.endsWith('*')))
    return { fault: 'redirect_prefixes_only', app }
  if (!isExactRedirectUrl(redirectUri, app.allowed_redirect_urls) || hasAnswerMember(redirectUri))
    return { fault: 'redirect_unknown', app }

  const state = typeof sent.state === 'string' && sent.state.length <= mostState ? sent.state : undefined
  const refuse = (error: RedirectedError, description: string) => ({
    location: errorLocation(deps, { redirectUri, state }, error, description),
  })
  const repeated = parameterNames.find((name) => Array.isArray(sent[name]))
  if (repeated) return refuse('invalid_request', `${repeated} is given twice`)
  const named = parameterNames.map((name) => [name, String(sent[name] ?? '')] as const)
  const given: GivenParameters = Object.fromEntries(named.filter(([, value]) => value !== ''))
  const fault = faultOf(app, given)
  if (fault) return refuse(...fault)
  const method = ownMethods.find((own) => own === given.method)
  const hinted = given.id_token_hint === undefined ? undefined : await readIdTokenHint(deps, given.id_token_hint)
  const hintedUserId = hinted?.appCode === app.code ? hinted.userId : null
  return {
    request: {
      app,
      redirectUri,
      codeChallenge: given.code_challenge,
      state,
      scope: scopeOf(given.scope),
      nonce: given.nonce,
      prompt: prompts.find((prompt) => prompt === given.prompt),
      maxAgeSeconds: given.max_age === undefined ? undefined : Number(given.max_age),
      demandsMfa: asksForMfa(given),
      loginHint: given.login_hint?.slice(0, 254),
      hintedUserId: given.id_token_hint === undefined ? undefined : hintedUserId,
      uiLocales: given.ui_locales,
      organizationId: given.organization_id,
      // Every other method is the code of a provider.
      provider: given.provider ?? (method ? undefined : given.method),
      method,
      invite: given.invite,
      isForAccount: false,
      query: queryOf(given),
      begunAt,
    },
  }
}

/** What is wrong with a request whose app and redirect URL are good: the error for the app, and its description. */
function faultOf(app: App, given: GivenParameters): [RedirectedError, string] | undefined {
  if (given.request !== undefined) return ['request_not_supported', 'request is not supported']
  if (given.request_uri !== undefined) return ['request_uri_not_supported', 'request_uri is not supported']
  if (given.response_type === undefined) return ['invalid_request', 'response_type is required']
  if (given.response_type !== 'code') return ['unsupported_response_type', 'response_type must be code']
  if (given.response_mode !== undefined && given.response_mode !== 'query')
    return ['invalid_request', 'response_mode must be query']
  if ((given.state?.length ?? 0) > mostState) return ['invalid_request', `state must have at most ${mostState} characters`]
  const challengeFault = faultOfChallenge(app, given)
  if (challengeFault !== undefined) return ['invalid_request', challengeFault]
  if ((given.nonce?.length ?? 0) > mostNonce) return ['invalid_request', `nonce must have at most ${mostNonce} characters`]
  if (given.prompt !== undefined && !prompts.some((prompt) => prompt === given.prompt))
    return ['invalid_request', 'prompt must be none, login or create']
  if (given.max_age !== undefined && !/^\d{1,9}$/.test(given.max_age))
    return ['invalid_request', 'max_age must be a number of seconds']
  if (given.organization_id !== undefined && !isUuid(given.organization_id))
    return ['invalid_request', 'organization_id must be a UUID']
  if (given.acr_values !== undefined && !asksForMfa(given))
    return ['unmet_authentication_requirements', `acr_values can ask for ${mfa} alone`]
  return undefined
}

/** Any value of the list is enough for the app (RFC 9470), and this is the only one that can be asked for. */
function asksForMfa({ acr_values: values }: GivenParameters): boolean {
  return values?.split(' ').includes(mfa) === true
}

/** What our own pages leave open. */
const nothing = {
  ...{ state: undefined, nonce: undefined, prompt: undefined, maxAgeSeconds: undefined, loginHint: undefined },
  ...{ organizationId: undefined, provider: undefined, method: undefined, invite: undefined, codeChallenge: undefined },
  ...{ scope: '', demandsMfa: false, isForAccount: false },
}

/** A request of our own pages: to sign in, or again, and to come back to the account page. */
function readAccountRequest({ config }: Deps, app: App, sent: SentParameters, begunAt: number): ReadRequest {
  const section = accountSections.find((name) => name === sent.account)
  if (section === undefined && sent.account !== 'device') return { fault: 'redirect_unknown', app }
  const returnTo = typeof sent.return_to === 'string' ? sent.return_to : ''
  const prompt = sent.prompt === 'login' ? sent.prompt : undefined
  const uiLocales = typeof sent.ui_locales === 'string' ? sent.ui_locales : undefined
  const query = queryOf({
    ...{ client_id: app.code, account: section ?? 'device' },
    ...(returnTo && { return_to: returnTo }),
    ...(prompt && { prompt }),
    ...(uiLocales && { ui_locales: uiLocales }),
  })
  const path = section ? accountPath(section, { app: app.code, returnTo }) : `/device?${new URLSearchParams({ app: app.code })}`
  const redirectUri = `${config.publicUrl}${path}`
  return { request: { ...nothing, app, redirectUri, query, prompt, uiLocales, begunAt, isForAccount: true } }
}

/** A request of our own page for a device: to sign in for its app, and to allow its sign-in. */
function readDeviceRequest({ config }: Deps, app: App, sent: SentParameters, begunAt: number): ReadRequest {
  const { device, ui_locales: languages } = sent
  if (!app.device_grant || typeof device !== 'string') return { fault: 'redirect_unknown', app }
  const uiLocales = typeof languages === 'string' ? languages : undefined
  const query = queryOf({ client_id: app.code, device, ...(uiLocales && { ui_locales: uiLocales }) })
  const redirectUri = `${config.publicUrl}/device`
  return { request: { ...nothing, app, redirectUri, query, uiLocales, begunAt, deviceField: device } }
}

/**
 * PKCE is required. The one exception is a confidential app: its secret protects the code, and its nonce binds the ID token to the
 * browser that began.
 */
function faultOfChallenge(
  { client }: App,
  { code_challenge: challenge, code_challenge_method: method, nonce, scope }: GivenParameters,
): string | undefined {
  if (challenge === undefined && method === undefined) {
    if (client === 'confidential' && hasScope(scopeOf(scope), 'openid') && nonce !== undefined) return undefined
    return client === 'confidential'
      ? 'code_challenge is required (PKCE), or the scope openid with a nonce'
      : 'code_challenge is required (PKCE)'
  }
  if (challenge === undefined) return 'code_challenge is required (PKCE)'
  if (method !== 'S256') return 'code_challenge_method must be S256'
  return /^[\w-]{43}$/.test(challenge) ? undefined : 'code_challenge must be 43 characters of base64url'
}

/** Unknown scopes are left out, as RFC 6749 section 3.3 allows. The answer of the exchange names those that were granted. */
export function scopeOf(asked = ''): string {
  return [...new Set(asked.split(' '))].filter((scope) => knownScopes.includes(scope)).join(' ')
}

/** Where a browser goes with an error. The text is ours: no text of others is repeated. */
export function errorLocation(
  { config }: Deps,
  { redirectUri, state }: Pick<AuthorizationRequest, 'redirectUri' | 'state'>,
  error: RedirectedError,
  description: string,
): string {
  return withAnswer(redirectUri, { error, error_description: description, state, iss: config.publicUrl })
}

/** The same authorization request again, with what a step has brought about. */
export function resumeLocation(
  deps: Deps,
  { query, begunAt }: Pick<AuthorizationRequest, 'query' | 'begunAt'>,
  browser: string,
  result: StepResult,
): string {
  const resume = { queryHash: hashOfQuery(query), begunAt, sealedAt: deps.clock(), ...result }
  return `${authorizePath}?${query}&resume=${encodeURIComponent(sealField(deps, 'resume', browser, resume))}`
}
