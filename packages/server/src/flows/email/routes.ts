import { noContent, ok, type Route, route } from '../../http/route.ts'
import { disownEmail } from './disown-email.ts'
import { disownEmailBody, verifiedUser, verifyEmailBody } from './schema.ts'
import { verifyEmail } from './verify-email.ts'

export const emailRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/auth/email/verify',
    tag: 'Account mail',
    summary: 'Verify an e-mail address with the token of a mail',
    description:
      'For an app with `require_verified_email` the account must be shown to be held as well: by its `password`, or by the bearer of one ' +
      'of its sessions. Without either the address is verified, and such apps stay closed until a magic link, a password reset or a ' +
      'trusted provider proves the mailbox. A wrong password leaves the token as it was.',
    auth: 'public',
    body: verifyEmailBody,
    responses: { 200: verifiedUser },
    errors: ['account_locked', 'invalid_credentials', 'invalid_token'],
    handle: async (deps, { body, bearer, origin }) => {
      const { user } = await verifyEmail(deps, { ...body, bearer }, { caller: undefined, origin })
      return ok({ user })
    },
  }),
  route({
    method: 'POST',
    path: '/auth/email/disown',
    tag: 'Account mail',
    summary: 'Say, with the token of a verification mail, that the account is none of yours',
    description: 'Deletes an account that nobody has proven. Any other stays, and the token is spent.',
    auth: 'public',
    body: disownEmailBody,
    responses: { 204: null },
    errors: ['invalid_token'],
    handle: async (deps, { body, origin }) => {
      await disownEmail(deps, body.token, { caller: undefined, origin })
      return noContent()
    },
  }),
]
