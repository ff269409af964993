import { ok, type Route, route } from '../../http/route.ts'
import { login } from './login.ts'
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
      'app_access_denied',
      'app_code_required',
      'app_inactive',
      'app_not_found',
      'account_suspended',
      'invalid_credentials',
      'organization_membership_required',
    ],
    handle: async (deps, { body, origin }) => ok(await login(deps, body, { caller: undefined, origin })),
  }),
]
