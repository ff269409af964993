import { ok, route, section } from '../../http/route.ts'
import { proofErrors, proofNote } from '../sign-in/prove-again.ts'
import {
  activateBody,
  activateTwoFactor,
  disableBody,
  disableTwoFactor,
  recoveryCodesAnswer,
  setUpAnswer,
  setUpBody,
  setUpTwoFactor,
} from './two-factor.ts'

export const twoFactorRoutes = section('Account', [
  route({
    method: 'POST',
    path: '/auth/2fa/setup',
    summary: 'Get a seed for an authenticator app',
    description:
      'TOTP (RFC 6238): SHA-1, 6 digits, 30 seconds. Logins do not change until it is activated. A repeated call replaces the ' +
      'seed. ' +
      proofNote,
    auth: 'user',
    noStore: true,
    body: setUpBody,
    responses: { 200: setUpAnswer },
    errors: [...proofErrors, 'two_factor_active'],
    handle: async (deps, { body, caller, origin }) => ok(await setUpTwoFactor(deps, body, caller, { caller, origin })),
  }),
  route({
    method: 'POST',
    path: '/auth/2fa/activate',
    summary: 'Turn the second factor on with a code from the authenticator app',
    description: `From then on, a login asks for a code. The recovery codes are shown only once. ${proofNote}`,
    auth: 'user',
    noStore: true,
    body: activateBody,
    responses: { 200: recoveryCodesAnswer },
    errors: [...proofErrors, 'invalid_two_factor_code', 'two_factor_active', 'two_factor_not_set_up'],
    handle: async (deps, { body, caller, origin }) => ok(await activateTwoFactor(deps, body, caller, { caller, origin })),
  }),
  route({
    method: 'POST',
    path: '/auth/2fa/disable',
    summary: 'Turn the second factor off',
    description: proofNote,
    auth: 'user',
    noStore: true,
    body: disableBody,
    responses: { 204: null },
    errors: [...proofErrors, 'invalid_two_factor_code', 'two_factor_not_set_up'],
    handle: async (deps, { body, caller, origin }) => disableTwoFactor(deps, body, caller, { caller, origin }),
  }),
])
