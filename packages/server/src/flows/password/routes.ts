import { noContent, ok, type Route, route } from '../../http/route.ts'
import { changePassword } from './change-password.ts'
import { resetPassword } from './reset-password.ts'
import { changePasswordBody, resetPasswordBody, tokenAnswer } from './schema.ts'

export const passwordRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/auth/password/change',
    tag: 'Account',
    summary: 'Change the own password',
    description: 'This session goes on with the tokens of the answer; all others end, in every app.',
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
      'rate_limited',
    ],
    handle: async (deps, { body, caller, origin }) => ok(await changePassword(deps, body, caller, { caller, origin })),
  }),
  route({
    method: 'POST',
    path: '/auth/password/reset',
    tag: 'Account mail',
    summary: 'Set a new password with the token of a mail',
    description:
      'Every session of the user ends, in every app, and a lockout is cleared. It logs nobody in, and a second factor stays on. ' +
      'A password that is refused leaves the token as it was.',
    auth: 'public',
    body: resetPasswordBody,
    responses: { 204: null },
    errors: ['invalid_token'],
    handle: async (deps, { body, origin }) => {
      await resetPassword(deps, body, { caller: undefined, origin })
      return noContent()
    },
  }),
]
