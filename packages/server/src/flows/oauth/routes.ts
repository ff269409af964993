import { z } from 'zod'
import { ok, type Route, route } from '../../http/route.ts'
import { leadTo, showPage } from '../../http/speak/page.ts'
import { assertPagesOn } from './authorize.ts'
import { answerLogout, askLogout } from './logout.ts'
import { metadataOf } from './metadata.ts'
import { answerAuthorize, answerMailLink, answerReturn, answerStep, findPlaceOfForm, type PageAnswer } from './pages.ts'
import {
  authorizeQuery,
  logoutForm,
  logoutQuery,
  mailQuery,
  metadataRecord,
  oauthTokens,
  returnQuery,
  revokeBody,
  stepForm,
  tokenBody,
} from './schema.ts'
import { grantTokens, revokeToken } from './tokens.ts'

const tag = 'Sign-in page'
const names = ['browser', 'session', 'device', 'trust'] as const
const cookies = { reads: names, sets: names }

function reply({ location, view, cookies, errorCode }: PageAnswer) {
  const shown = location === undefined ? showPage(view) : leadTo(location)
  return { ...shown, cookies, errorCode }
}

/** The sign-in page, which is an OAuth 2.1 authorization endpoint, and what belongs to it. */
export const oauthRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/oauth/authorize',
    tag,
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
    path: '/oauth/authorize',
    tag,
    summary: 'Take a step of the sign-in page',
    description: 'For forms of the page itself. Always leads on to the same authorization request, or to the app.',
    auth: 'public',
    speaks: 'page',
    noStore: true,
    cookies,
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
    tag,
    summary: 'Receive the browser that a provider has signed in',
    description: 'The callback of a provider leads here. Only the browser that began goes on.',
    auth: 'public',
    speaks: 'page',
    navigation: true,
    noStore: true,
    cookies,
    query: returnQuery,
    responses: { 303: null, 400: z.string(), 403: z.string() },
    errors: [],
    handle: async (deps, { query, cookies, origin }) =>
      reply(await answerReturn(deps, query, cookies, { caller: undefined, origin })),
  }),
  route({
    method: 'GET',
    path: '/oauth/mail',
    tag,
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
    tag,
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
      'email_unverified',
      'invalid_client',
      'invalid_grant',
      'invalid_refresh_token',
      'machine_tokens_disabled',
      'organization_membership_required',
      'refresh_token_reused',
      'scope_required',
      'token_expired',
      'token_invalid',
      'token_missing',
      'unsupported_grant_type',
    ],
    handle: async (deps, { body, bearer, client, origin }) =>
      ok(await grantTokens(deps, body, { bearer, client }, { caller: undefined, origin })),
  }),
  route({
    method: 'POST',
    path: '/oauth/revoke',
    tag,
    summary: 'End the session of a refresh token',
    description: 'RFC 7009: the answer is the same for an unknown token. A confidential app that names itself authenticates.',
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
  route({
    method: 'GET',
    path: '/oauth/logout',
    tag,
    summary: 'Ask a person whether to sign out',
    auth: 'public',
    speaks: 'page',
    noStore: true,
    cookies: { reads: ['browser', 'session'], sets: ['browser'] },
    query: logoutQuery,
    responses: { 200: z.string() },
    errors: ['not_found'],
    handle: async (deps, { query, cookies, origin }) => reply(await askLogout(deps, query, cookies, { origin })),
  }),
  route({
    method: 'POST',
    path: '/oauth/logout',
    tag,
    summary: 'Sign a person out of this service, and of the apps that they entered from this browser',
    auth: 'public',
    speaks: 'page',
    noStore: true,
    cookies: { reads: ['browser', 'session'], sets: ['session'] },
    body: logoutForm,
    placeOf: async (deps, sent) => findPlaceOfForm(deps, logoutForm.parse(sent)),
    responses: { 303: null, 400: z.string() },
    errors: ['foreign_form', 'not_found'],
    handle: async (deps, { body, cookies, origin }) =>
      reply(await answerLogout(deps, body, cookies, { caller: undefined, origin })),
  }),
  route({
    method: 'GET',
    path: '/.well-known/oauth-authorization-server',
    tag,
    summary: 'What standard OAuth clients read about this service',
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
]
