import { ok, type Route, route } from '../../http/route.ts'
import { findOverridingCaller } from '../entry/find-overriding-caller.ts'
import { login } from '../entry/login.ts'
import { loginBody, tokenAnswer } from './schema.ts'

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
