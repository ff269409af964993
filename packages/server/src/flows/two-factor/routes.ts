import { noContent, ok, type Route, route } from '../../http/route.ts'
import { activateTwoFactor } from './activate-two-factor.ts'
import { disableTwoFactor } from './disable-two-factor.ts'
import { activateBody, disableBody, recoveryCodesAnswer, setUpAnswer } from './schema.ts'
import { setUpTwoFactor } from './set-up-two-factor.ts'

const tag = 'Account'

export const twoFactorRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/auth/2fa/setup',
    tag,
    summary: 'Get a seed for an authenticator app',
    description:
      'TOTP (RFC 6238): SHA-1, 6 digits, 30 seconds. Logins are as before until it is activated; a repeated call replaces the seed.',
    auth: 'user',
    noStore: true,
    responses: { 200: setUpAnswer },
    errors: ['two_factor_active'],
    handle: async (deps, { caller, origin }) => ok(await setUpTwoFactor(deps, caller, { caller, origin })),
  }),
  route({
    method: 'POST',
    path: '/auth/2fa/activate',
    tag,
    summary: 'Turn the second factor on with a code of the authenticator app',
    description: 'From now on a login asks for a code. The recovery codes are shown this once.',
    auth: 'user',
    noStore: true,
    body: activateBody,
    responses: { 200: recoveryCodesAnswer },
    errors: ['invalid_two_factor_code', 'rate_limited', 'two_factor_active', 'two_factor_not_set_up'],
    handle: async (deps, { body, caller, origin }) => ok(await activateTwoFactor(deps, body, caller, { caller, origin })),
  }),
  route({
    method: 'POST',
    path: '/auth/2fa/disable',
    tag,
    summary: 'Turn the second factor off',
    description: 'A wrong password or code counts as a failed login.',
    auth: 'user',
    noStore: true,
    body: disableBody,
    responses: { 204: null },
    errors: ['account_locked', 'invalid_credentials', 'invalid_two_factor_code', 'rate_limited', 'two_factor_not_set_up'],
    handle: async (deps, { body, caller, origin }) => {
      await disableTwoFactor(deps, body, caller, { caller, origin })
      return noContent()
    },
  }),
]
