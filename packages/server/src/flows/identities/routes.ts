import { noContent, type Route, route } from '../../http/route.ts'
import { proofErrors, proofNote } from '../sign-in/prove-again.ts'
import { identityParams, unlinkBody } from './schema.ts'
import { unlinkIdentity } from './unlink-identity.ts'

export const ownIdentityRoutes: Route[] = [
  route({
    method: 'DELETE',
    path: '/auth/identities/{identityId}',
    tag: 'Account',
    summary: 'Unlink your account from a provider',
    description: `Refused if no password, passkey or other provider would be left to sign in with. Sessions continue. ${proofNote}`,
    auth: 'user',
    params: identityParams,
    body: unlinkBody,
    responses: { 204: null },
    errors: [...proofErrors, 'invalid_two_factor_code', 'last_sign_in_method'],
    handle: async (deps, { caller, params, body, origin }) => {
      await unlinkIdentity(deps, { ...params, ...body }, caller, { caller, origin })
      return noContent()
    },
  }),
]
