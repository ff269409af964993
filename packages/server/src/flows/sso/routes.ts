import { ok, type Route, route, section } from '../../http/route.ts'
import type { Reply } from '../../http/speak/reply.ts'
import { proofErrors, proofNote } from '../sign-in/prove-again.ts'
import { answerCallback, exchangeProviderCode } from './callback.ts'
import { unlinkBody, unlinkIdentity } from './identity-link.ts'
import { callbackQuery, exchangeBody, linkAnswer, linkBody, startLink, startQuery, startSso, tokensOrIdentity } from './start.ts'

export const ownIdentityRoutes: Route[] = [
  route({
    method: 'DELETE',
    path: '/auth/identities/{identityId}',
    tag: 'Account',
    summary: 'Unlink your account from a provider',
    description: `Refused if no password, passkey or other provider would be left to sign in with. Sessions continue. ${proofNote}`,
    auth: 'user',
    body: unlinkBody,
    responses: { 204: null },
    errors: [...proofErrors, 'invalid_two_factor_code', 'last_sign_in_method'],
    handle: async (deps, { caller, params, body, origin }) =>
      unlinkIdentity(deps, { ...params, ...body }, caller, { caller, origin }),
  }),
]

/** Redirects without a referrer, so that the target does not learn the URL that the browser comes from. */
function redirectTo(url: string): Reply {
  return { status: 302, headers: { Location: url, 'Referrer-Policy': 'no-referrer' } }
}

export const ssoRoutes = section('Third-party login', [
  route({
    method: 'GET',
    path: '/auth/sso/{provider}/start',
    summary: 'Send a browser to a provider',
    description:
      'Redirects to the provider. An invalid request is not redirected but answered directly, with a page if the caller is a ' +
      'browser. Counts against AUTH_RATE_LIMIT_IP separately from other calls.',
    auth: 'public',
    cors: true,
    noStore: true,
    navigation: true,
    query: startQuery,
    responses: { 302: null },
    errors: [
      'app_code_required',
      'app_inactive',
      'app_not_found',
      'auth_method_not_allowed',
      'rate_limited',
      'sso_provider_disabled',
    ],
    handle: async (deps, { params, query, origin }) =>
      redirectTo(await startSso(deps, params.provider, query, { caller: undefined, origin })),
  }),
  route({
    method: 'GET',
    path: '/auth/sso/{provider}/callback',
    summary: 'Receive the browser that a provider sends back',
    description:
      'Redirects to the `redirect_url` of the start with its `state` and a `code` for `POST /auth/sso/token`, or with `error`: ' +
      '`access_denied`, `temporarily_unavailable` or `server_error`. Other errors, such as for an answer that arrives a second ' +
      'time, are not redirected but answered directly, with a page if the caller is a browser.',
    auth: 'public',
    cors: true,
    noStore: true,
    navigation: true,
    query: callbackQuery,
    responses: { 302: null },
    errors: ['app_inactive', 'auth_method_not_allowed', 'invalid_sso_state', 'sso_provider_disabled'],
    handle: async (deps, { params, query, origin }) =>
      redirectTo(await answerCallback(deps, params.provider, query, { caller: undefined, origin })),
  }),
  route({
    method: 'POST',
    path: '/auth/identities/link',
    summary: 'Start linking your account to a provider',
    description:
      'Send the browser to `location`. It comes back to `redirect_url` as from a login. Then call `POST /auth/sso/token` with ' +
      `the bearer of the same session, within ten minutes, to create the link. ${proofNote}`,
    auth: 'user',
    noStore: true,
    body: linkBody,
    responses: { 200: linkAnswer },
    errors: [
      ...proofErrors,
      'app_code_required',
      'auth_method_not_allowed',
      'invalid_two_factor_code',
      'not_found',
      'sso_provider_disabled',
    ],
    handle: async (deps, { body, caller, origin }) => ok({ location: await startLink(deps, body, caller, { caller, origin }) }),
  }),
  route({
    method: 'POST',
    path: '/auth/sso/token',
    summary: 'Exchange the code of a third-party login for tokens, or the code of a link for the identity',
    description:
      'A code is valid for five minutes and for one login. A failed attempt, for example without the second factor, does not ' +
      'spend it. A user without an account in the pools of the app is registered. An e-mail links to the user who has it only ' +
      'if the provider is trusted for its domain and the user holds no global role except `base_user`. Otherwise the answer is ' +
      '`link_required`. The code of a link (`POST /auth/identities/link`) gives no tokens: it requires the bearer of the ' +
      'session that started the link, and the answer is the identity.',
    auth: 'public',
    noStore: true,
    body: exchangeBody,
    responses: { 200: tokensOrIdentity },
    errors: [
      'account_locked',
      'account_suspended',
      'app_access_denied',
      'app_inactive',
      'auth_method_not_allowed',
      'email_domain_not_allowed',
      'email_unverified',
      'identity_in_use',
      'invalid_client',
      'invalid_sso_code',
      'invalid_two_factor_code',
      'link_required',
      'second_factor_not_shown',
      'sign_up_closed',
      'sso_email_missing',
      'sso_provider_disabled',
      'token_expired',
      'token_invalid',
      'token_missing',
      'token_revoked',
      'two_factor_enrollment_required',
      'two_factor_required',
    ],
    handle: async (deps, { body, bearer, origin }) => ok(await exchangeProviderCode(deps, body, { bearer, origin })),
  }),
])
