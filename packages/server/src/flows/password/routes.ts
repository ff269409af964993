import { ok, type Route, route } from '../../http/route.ts'
import { tokenAnswer } from '../../lib/records.ts'
import { changePassword, changePasswordBody, resetPassword, resetPasswordBody } from './password.ts'

export const passwordRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/auth/password/change',
    tag: 'Account',
    summary: 'Change your password',
    description: 'This session continues with the tokens in the answer. All other sessions end, in every app.',
    auth: 'user',
    noStore: true,
    body: changePasswordBody,
    responses: { 200: tokenAnswer },
    errors: [
      'account_locked',
      'app_access_denied',
      'email_unverified',
      'invalid_credentials',
      'organization_membership_required',
      'second_factor_not_shown',
      'rate_limited',
      'two_factor_enrollment_required',
    ],
    handle: async (deps, { body, caller, origin }) => ok(await changePassword(deps, body, caller, { caller, origin })),
  }),
  route({
    method: 'POST',
    path: '/auth/password/reset',
    tag: 'Account mail',
    summary: 'Set a new password with the token from a mail',
    description:
      'Ends every session of the user, in every app, and clears a lockout. Does not log the user in, and keeps a second ' +
      'factor. A refused password does not spend the token.',
    auth: 'public',
    body: resetPasswordBody,
    responses: { 204: null },
    errors: ['invalid_token'],
    handle: async (deps, { body, origin }) => {
      await resetPassword(deps, body, { caller: undefined, origin })
    },
  }),
]
