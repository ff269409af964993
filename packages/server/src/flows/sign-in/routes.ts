import { ok, type Route, route } from '../../http/route.ts'
import { consumeMagicLink } from './consume-magic-link.ts'
import { findOverridingCaller, login } from './login.ts'
import { consumeMagicLinkBody, loginBody, tokenAnswer } from './schema.ts'

export const loginRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/auth/login',
    tag: 'Authentication',
    summary: 'Log in through an app',
    auth: 'public',
    noStore: true,
    body: loginBody,
    responses: { 200: tokenAnswer },
    errors: [
      'account_locked',
      'app_access_denied',
      'app_code_required',
      'app_inactive',
      'app_not_found',
      'account_suspended',
      'email_unverified',
      'invalid_credentials',
      'invalid_two_factor_code',
      'organization_membership_required',
      'two_factor_required',
    ],
    handle: async (deps, { body, bearer, origin }) => {
      const caller = await findOverridingCaller(deps, body, bearer)
      return ok(await login(deps, body, { caller, origin }))
    },
  }),
]

export const magicLinkRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/auth/magic-link/consume',
    tag: 'Account mail',
    summary: 'Log in with the token from a mail',
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
      'invalid_credentials',
      'invalid_token',
      'invalid_two_factor_code',
      'two_factor_required',
    ],
    handle: async (deps, { body, origin }) => {
      const { tokens } = await consumeMagicLink(deps, body, { caller: undefined, origin })
      return ok(tokens)
    },
  }),
]
