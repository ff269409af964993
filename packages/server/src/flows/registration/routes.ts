import { type Route, route } from '../../http/route.ts'
import { authorizeMode, register, registerBody, registrationAnswer } from './register.ts'

export const registrationRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/auth/register',
    tag: 'Authentication',
    summary: 'Register a user through an app',
    description:
      '201 for a new user, 200 for an existing one (`register_or_login`, `register_or_return`). The answer has tokens if ' +
      'access is granted. `register_or_return` is for services and never returns tokens. It requires the bearer of a service ' +
      'account with the scope `users:register_or_return` for this app, or of a system_admin whose token is for an app of ' +
      'AUTH_ADMIN_APP_CODES.',
    auth: 'public',
    noStore: true,
    takesDefaultApp: true,
    body: registerBody,
    responses: { 200: registrationAnswer, 201: registrationAnswer },
    errors: [
      'account_locked',
      'account_suspended',
      'admin_app_not_allowed',
      'app_access_denied',
      'app_code_required',
      'app_inactive',
      'app_not_found',
      'auth_method_not_allowed',
      'email_domain_not_allowed',
      'email_unverified',
      'invalid_client',
      'invalid_credentials',
      'invalid_invitation',
      'invalid_two_factor_code',
      'organization_sign_up_closed',
      'second_factor_not_shown',
      'scope_required',
      'service_caller_required',
      'sign_up_closed',
      'token_expired',
      'token_invalid',
      'token_missing',
      'token_revoked',
      'two_factor_enrollment_required',
      'two_factor_required',
      'user_exists',
    ],
    handle: async (deps, { body, rawBody, bearer, origin }) => {
      const caller = await authorizeMode(deps, body, bearer)
      const answer = await register(deps, body, rawBody, { caller, origin })
      return { status: answer.created ? 201 : 200, body: answer }
    },
  }),
]
