import { ok, type Route, route } from '../../http/route.ts'
import { tokenAnswer } from '../../lib/records.ts'
import { consumeEmailCode, requestEmailCode } from './email-code.ts'
import { findOverridingCaller, login } from './login.ts'
import { consumeMagicLink } from './magic-link.ts'
import { consumeEmailCodeBody, consumeMagicLinkBody, emailCodeAsked, emailCodeBody, loginBody } from './schema.ts'

export const loginRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/auth/login',
    tag: 'Authentication',
    summary: 'Sign in through an app',
    auth: 'public',
    noStore: true,
    body: loginBody,
    responses: { 200: tokenAnswer },
    errors: [
      'account_locked',
      'account_suspended',
      'app_access_denied',
      'app_code_required',
      'app_inactive',
      'app_not_found',
      'email_unverified',
      'invalid_client',
      'invalid_credentials',
      'invalid_two_factor_code',
      'organization_membership_required',
      'second_factor_not_shown',
      'two_factor_enrollment_required',
      'two_factor_required',
    ],
    handle: async (deps, { body, bearer, origin }) => {
      const caller = await findOverridingCaller(deps, body, bearer)
      return ok(await login(deps, body, { caller, origin }))
    },
  }),
]

export const mailLoginRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/auth/magic-link/consume',
    tag: 'Account mail',
    summary: 'Sign in with the token from a mail',
    description:
      'Logs in through the app that the mail was requested for. Asks for a second factor, as a login does. A failed attempt ' +
      'does not spend the token. Verifies the address. For an unproven account, first removes its password, second factor and ' +
      'sessions, unless `password` shows that the account is the caller’s. A wrong password counts as a failed login.',
    auth: 'public',
    noStore: true,
    body: consumeMagicLinkBody,
    responses: { 200: tokenAnswer },
    errors: [
      'account_locked',
      'account_suspended',
      'app_access_denied',
      'app_inactive',
      'invalid_client',
      'invalid_credentials',
      'invalid_token',
      'invalid_two_factor_code',
      'second_factor_not_shown',
      'two_factor_enrollment_required',
      'two_factor_required',
    ],
    handle: async (deps, { body, origin }) => {
      const { tokens } = await consumeMagicLink(deps, body, { caller: undefined, origin })
      return ok(tokens)
    },
  }),
  route({
    method: 'POST',
    path: '/auth/email-code',
    tag: 'Account mail',
    summary: 'Request a mail with a code to sign in with',
    description:
      'The mail has six digits and a magic link. The answer looks the same whether or not a user of the app has the address. A mail ' +
      'is sent at most three times in 15 minutes, magic links included. A newer one invalidates earlier ones.',
    auth: 'public',
    body: emailCodeBody,
    responses: { 202: emailCodeAsked },
    errors: ['app_code_required', 'app_inactive', 'app_not_found'],
    handle: async (deps, { body, origin }) => ({
      status: 202,
      body: { request_id: await requestEmailCode(deps, body, { caller: undefined, origin }) },
    }),
  }),
  route({
    method: 'POST',
    path: '/auth/email-code/consume',
    tag: 'Account mail',
    summary: 'Sign in with the code from a mail',
    description:
      'Works for ten minutes, with the `request_id` that was answered to the request for the code. Five wrong codes for an address in ' +
      'ten minutes lock codes for it, whichever request they were for; the link in the mail still works. Codes with the ' +
      '`device_token` of an earlier login are counted separately. Otherwise like `POST /auth/magic-link/consume`.',
    auth: 'public',
    noStore: true,
    body: consumeEmailCodeBody,
    responses: { 200: tokenAnswer },
    errors: [
      'account_locked',
      'account_suspended',
      'app_access_denied',
      'app_inactive',
      'invalid_client',
      'invalid_credentials',
      'invalid_mail_code',
      'invalid_token',
      'invalid_two_factor_code',
      'second_factor_not_shown',
      'two_factor_enrollment_required',
      'two_factor_required',
    ],
    handle: async (deps, { body, origin }) => ok(await consumeEmailCode(deps, body, { caller: undefined, origin })),
  }),
]
