import { ok, type Route, route } from '../../http/route.ts'
import { changePassword } from './change-password.ts'
import { changePasswordBody, tokenAnswer } from './schema.ts'

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
    errors: ['account_locked', 'invalid_credentials', 'rate_limited'],
    handle: async (deps, { body, caller, origin }) => ok(await changePassword(deps, body, caller, { caller, origin })),
  }),
]
