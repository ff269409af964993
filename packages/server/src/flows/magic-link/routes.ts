import { ok, type Route, route } from '../../http/route.ts'
import { consumeMagicLink } from './consume-magic-link.ts'
import { consumeMagicLinkBody, tokenAnswer } from './schema.ts'

export const magicLinkRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/auth/magic-link/consume',
    tag: 'Account mail',
    summary: 'Log in with the token of a mail',
    description:
      'Through the app that the mail was asked for. A second factor is asked for as at a login, and a try that fails leaves the token as ' +
      'it was. It verifies the address; where nobody had, password, second factor and sessions of the account are removed first.',
    auth: 'public',
    noStore: true,
    body: consumeMagicLinkBody,
    responses: { 200: tokenAnswer },
    errors: [
      'account_locked',
      'account_suspended',
      'app_access_denied',
      'app_inactive',
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
