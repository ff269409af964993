import { z } from 'zod'
import { ok, route, section } from '../../http/route.ts'
import { leadTo, showPage } from '../../http/speak/page.ts'
import { assertPagesOn, type PageAnswer } from '../sign-in/page-answer.ts'
import { scopeOf } from './authorization-request.ts'
import { beginDeviceGrant } from './device-grant.ts'
import { showDevicePage, takeUserCode } from './device-page.ts'
import { describeToApp, tokenOfUserinfo } from './id-token.ts'
import { answerLogout, askLogout } from './logout.ts'
import { metadataOf, publishKeys } from './metadata.ts'
import { findPlaceOfForm } from './request-pages.ts'
import { authorizePath, pathOfSentLogout, pathOfSentRequest } from './request-parameters.ts'
import {
  authorizeQuery,
  deviceAuthorization,
  deviceAuthorizationBody,
  deviceForm,
  devicePageQuery,
  jwksRecord,
  logoutForm,
  logoutQuery,
  mailQuery,
  metadataRecord,
  oauthTokens,
  returnQuery,
  revokeBody,
  stepForm,
  tokenBody,
  userinfoForm,
  userinfoRecord,
} from './schema.ts'
import { answerAuthorize } from './sign-in-page.ts'
import { answerMailLink, answerReturn, answerStep } from './step-answers.ts'
import { grantTokens, needed, revokeToken } from './tokens.ts'

const names = ['browser', 'session', 'device', 'trust'] as const
const cookies = { reads: names, sets: names }

function reply({ location, view, cookies, errorCode, counted }: PageAnswer) {
  const shown = location === undefined ? showPage(view) : leadTo(location)
  return { ...shown, cookies, errorCode, counted }
}

/** The sign-in page, which is an OAuth 2.1 authorization endpoint, and what belongs to it. */
export const oauthRoutes = section('Sign-in page', [
  route({
    method: 'GET',
    path: authorizePath,
    summary: 'Sign a person in for an app',
    description:
      'The authorization endpoint of OAuth 2.1, with PKCE. Shows a page where the person signs in, or goes back to `redirect_uri` at ' +
      'once if they are signed in and the app admits them. Sends `code`, `state` and `iss` there, or `error`.',
    auth: 'public',
    speaks: 'page',
    noStore: true,
    navigation: true,
    cookies,
    query: authorizeQuery,
    responses: { 200: z.string(), 303: null, 400: z.string(), 403: z.string() },
    errors: ['not_found'],
    handle: async (deps, { query, cookies, origin }) =>
      reply(await answerAuthorize(deps, query, cookies, { caller: undefined, origin })),
  }),
  route({
    method: 'POST',
    path: authorizePath,
    summary: 'Take a step of the sign-in page',
    description:
      'For forms of the page itself. Always leads on to the same authorization request, or to the app. An authorization request that an ' +
      'app sends as a form is led to the same request by GET.',
    auth: 'public',
    speaks: 'page',
    noStore: true,
    cookies,
    leadsOn: pathOfSentRequest,
    body: stepForm,
    placeOf: async (deps, sent) => findPlaceOfForm(deps, stepForm.parse(sent)),
    responses: { 303: null, 400: z.string(), 403: z.string() },
    errors: ['foreign_form', 'not_found'],
    handle: async (deps, { body, cookies, origin }) =>
      reply(await answerStep(deps, body, cookies, { caller: undefined, origin })),
  }),
  route({
    method: 'GET',
    path: '/oauth/return',
    summary: 'Receive the browser that a provider has signed in',
    description: 'The callback of a provider leads here. Only the browser that began goes on.',
    auth: 'public',
    speaks: 'page',
    navigation: true,
    noStore: true,
    cookies,
    query: returnQuery,
    responses: { 303: null, 400: z.string(), 403: z.string() },
    handle: async (deps, { query, cookies, origin }) =>
      reply(await answerReturn(deps, query, cookies, { caller: undefined, origin })),
  }),
  route({
    method: 'GET',
    path: '/oauth/mail',
    summary: 'Open the link of a mail that was asked for on the sign-in page',
    description:
      'In the browser that asked, it leads on to the sign-in page. Elsewhere a link to a new password or to a verification ' +
      'leads to the page for that alone, and a sign-in link says where its code is to be typed. Spends nothing.',
    auth: 'public',
    speaks: 'page',
    noStore: true,
    cookies: { reads: ['browser'], sets: [] },
    query: mailQuery,
    responses: { 200: z.string(), 303: null },
    errors: ['invalid_token'],
    handle: async (deps, { query, cookies, origin }) => reply(await answerMailLink(deps, query.token, cookies, { origin })),
  }),
  route({
    method: 'POST',
    path: '/oauth/token',
    summary: 'Exchange a code or a refresh token for tokens',
    description:
      'The token endpoint of OAuth 2.1. A confidential app authenticates with its client secret, in HTTP Basic or as `client_secret` in ' +
      'the body. Errors have the members of RFC 6749. A successful call, and one with a right client secret, is not counted.',
    auth: 'public',
    takesClient: true,
    speaks: 'oauth',
    oauthErrors: 'alone',
    cors: true,
    limit: 'failures',
    noStore: true,
    body: tokenBody,
    responses: { 200: oauthTokens },
    errors: [
      'account_suspended',
      'app_access_denied',
      'app_inactive',
      'app_not_found',
      'authorization_pending',
      'device_code_expired',
      'device_grant_denied',
      'device_grant_disabled',
      'email_unverified',
      'invalid_client',
      'invalid_grant',
      'invalid_refresh_token',
      'machine_tokens_disabled',
      'organization_membership_required',
      'second_factor_not_shown',
      'refresh_token_reused',
      'scope_required',
      'slow_down',
      'token_expired',
      'token_invalid',
      'token_missing',
      'two_factor_enrollment_required',
      'unsupported_grant_type',
    ],
    handle: async (deps, { body, bearer, client, origin }) =>
      ok(await grantTokens(deps, body, { bearer, client }, { caller: undefined, origin })),
  }),
  route({
    method: 'POST',
    path: '/oauth/device_authorization',
    summary: 'Begin to sign a person in on a device without a browser',
    description:
      'RFC 8628, for apps with `device_grant`. The device shows the code and the address, and asks the token endpoint until the person ' +
      'has allowed it in a browser.',
    auth: 'public',
    takesClient: true,
    speaks: 'oauth',
    oauthErrors: 'alone',
    cors: false,
    limit: 'calls',
    noStore: true,
    body: deviceAuthorizationBody,
    responses: { 200: deviceAuthorization },
    errors: ['app_inactive', 'app_not_found', 'device_grant_disabled', 'invalid_client', 'not_found'],
    handle: async (deps, { body, client, origin }) => {
      const asked = { client: needed(client), scope: scopeOf(body.scope) }
      return ok(await beginDeviceGrant(deps, asked, { caller: undefined, origin }))
    },
  }),
  route({
    method: 'GET',
    path: '/device',
    summary: 'Ask a person for the code that a device shows',
    auth: 'public',
    speaks: 'page',
    noStore: true,
    cookies: { reads: ['browser', 'session'], sets: ['browser'] },
    query: devicePageQuery,
    responses: { 200: z.string(), 303: null },
    errors: ['not_found'],
    handle: async (deps, { query, cookies, origin }) => reply(await showDevicePage(deps, query, cookies, { origin })),
  }),
  route({
    method: 'POST',
    path: '/device',
    summary: 'Take the code that a device shows',
    description: 'Leads to a page on which the person allows the sign-in, after they have signed in for the app.',
    auth: 'public',
    speaks: 'page',
    noStore: true,
    cookies: { reads: ['browser', 'session'], sets: [] },
    body: deviceForm,
    placeOf: async (deps, sent) => findPlaceOfForm(deps, deviceForm.parse(sent)),
    responses: { 303: null, 400: z.string() },
    errors: ['foreign_form'],
    handle: async (deps, { body, cookies, origin }) =>
      reply(await takeUserCode(deps, body, cookies, { caller: undefined, origin })),
  }),
  route({
    method: 'POST',
    path: '/oauth/revoke',
    summary: 'End the session of a refresh token or an access token',
    description:
      'RFC 7009: the answer is the same for an unknown token. For a token of a confidential app, the app authenticates.',
    auth: 'public',
    takesClient: true,
    speaks: 'oauth',
    oauthErrors: 'alone',
    cors: true,
    limit: 'calls',
    body: revokeBody,
    responses: { 200: z.strictObject({}) },
    errors: ['invalid_client'],
    handle: async (deps, { body, client, origin }) => {
      await revokeToken(deps, { token: body.token, client }, { caller: undefined, origin })
      return ok({})
    },
  }),
  ...(['GET', 'POST'] as const).map((method) =>
    route({
      method,
      path: '/oauth/userinfo',
      summary: 'Read what an app may know about the user of an access token',
      description:
        'The claims of the scopes that the session was opened with, as they are now. The session must have been opened with `openid`. ' +
        'A POST may have the token in a form instead of the header.',
      auth: 'public',
      speaks: 'oauth',
      oauthErrors: 'bearer',
      cors: true,
      limit: 'nothing',
      noStore: true,
      ...(method === 'POST' ? { body: userinfoForm } : {}),
      responses: { 200: userinfoRecord },
      errors: ['insufficient_scope', 'token_expired', 'token_invalid', 'token_missing', 'token_revoked'],
      handle: async (deps, { bearer, body }) => {
        return ok(await describeToApp(deps, tokenOfUserinfo(bearer, body.access_token)))
      },
    }),
  ),
  route({
    method: 'GET',
    path: '/oauth/jwks',
    summary: 'Read the keys that ID tokens are verified with',
    description: 'The next key, the one that signs now, and those that were retired within the last hour.',
    auth: 'public',
    speaks: 'oauth',
    oauthErrors: 'alone',
    limit: 'nothing',
    cors: true,
    responses: { 200: jwksRecord },
    errors: ['not_found'],
    handle: async (deps) => {
      assertPagesOn(deps)
      return publishKeys(deps)
    },
  }),
  route({
    method: 'GET',
    path: '/oauth/logout',
    summary: 'Sign a person out, or ask them whether to',
    description:
      'With an `id_token_hint` of a session that was opened from this browser, signs the person out at once; the hint may be expired. ' +
      'Otherwise a page asks. Leads to `post_logout_redirect_uri` only if it is a redirect URL of the app and no hint is bad.',
    auth: 'public',
    speaks: 'page',
    navigation: true,
    noStore: true,
    cookies: { reads: ['browser', 'session'], sets: ['browser', 'session'] },
    query: logoutQuery,
    responses: { 200: z.string(), 303: null },
    errors: ['not_found'],
    handle: async (deps, { query, cookies, origin }) =>
      reply(await askLogout(deps, query, cookies, { caller: undefined, origin })),
  }),
  route({
    method: 'POST',
    path: '/oauth/logout',
    summary: 'Sign a person out of this service, and of the apps that they entered from this browser',
    description:
      'For the form of the page itself. A request to sign out that an app sends as a form is led to the same request by GET.',
    auth: 'public',
    speaks: 'page',
    noStore: true,
    cookies: { reads: ['browser', 'session'], sets: ['session'] },
    leadsOn: pathOfSentLogout,
    body: logoutForm,
    placeOf: async (deps, sent) => findPlaceOfForm(deps, logoutForm.parse(sent)),
    responses: { 303: null, 400: z.string() },
    errors: ['foreign_form', 'not_found'],
    handle: async (deps, { body, cookies, origin }) =>
      reply(await answerLogout(deps, body, cookies, { caller: undefined, origin })),
  }),
  ...['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'].map((path) =>
    route({
      method: 'GET',
      path,
      summary: 'What standard clients read about this service',
      description: 'The same at `/.well-known/oauth-authorization-server` and `/.well-known/openid-configuration`.',
      auth: 'public',
      cors: true,
      offline: true,
      responses: { 200: metadataRecord },
      errors: ['not_found'],
      handle: async (deps) => {
        assertPagesOn(deps)
        return ok(metadataOf(deps.config))
      },
    }),
  ),
])
