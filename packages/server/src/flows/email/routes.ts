import { ok, type Route, route } from '../../http/route.ts'
import { verifiedUser, verifyEmailBody } from './schema.ts'
import { verifyEmail } from './verify-email.ts'

export const emailRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/auth/email/verify',
    tag: 'Account mail',
    summary: 'Verify an e-mail address with the token of a mail',
    auth: 'public',
    body: verifyEmailBody,
    responses: { 200: verifiedUser },
    errors: ['invalid_token'],
    handle: async (deps, { body, origin }) => {
      const { user } = await verifyEmail(deps, body.token, { caller: undefined, origin })
      return ok({ user })
    },
  }),
]
