import { accepted, noContent, ok, type Route, route } from '../../http/route.ts'
import { proofErrors, proofNote } from '../entry/prove-identity.ts'
import { confirmEmailChange } from './confirm-email-change.ts'
import { disownEmail } from './disown-email.ts'
import { requestEmailChange } from './request-email-change.ts'
import {
  changeEmailBody,
  changeRequested,
  confirmChangeBody,
  disownEmailBody,
  undoChangeBody,
  verifiedUser,
  verifyEmailBody,
} from './schema.ts'
import { undoEmailChange } from './undo-email-change.ts'
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
  route({
    method: 'POST',
    path: '/auth/email/change',
    tag: 'Account',
    summary: 'Ask for another e-mail address',
    description: `A link is mailed to the new address, and nothing changes before it is opened. ${proofNote}`,
    auth: 'user',
    body: changeEmailBody,
    responses: { 202: changeRequested },
    errors: [...proofErrors, 'app_code_required', 'invalid_two_factor_code'],
    handle: async (deps, { body, caller, origin }) => {
      await requestEmailChange(deps, body, caller, { caller, origin })
      return accepted()
    },
  }),
  route({
    method: 'POST',
    path: '/auth/email/change/confirm',
    tag: 'Account mail',
    summary: 'Change the e-mail address with the token of a mail',
    description:
      'Sessions go on. The old address is told, with a link that takes the change back for 72 hours. As with `POST /auth/email/verify`, apps ' +
      'with `require_verified_email` open to whoever also brings the `password` or a bearer of the account.',
    auth: 'public',
    body: confirmChangeBody,
    responses: { 200: verifiedUser },
    errors: ['account_locked', 'email_exists_in_pool', 'invalid_credentials', 'invalid_token'],
    handle: async (deps, { body, bearer, origin }) => {
      const { user } = await confirmEmailChange(deps, { ...body, bearer }, { caller: undefined, origin })
      return ok({ user })
    },
  }),
  route({
    method: 'POST',
    path: '/auth/email/change/undo',
    tag: 'Account mail',
    summary: 'Take a change of the e-mail address back with the token of the notice',
    description: 'The old address is back, whatever was changed since, and every session of the account ends, in every app.',
    auth: 'public',
    body: undoChangeBody,
    responses: { 200: verifiedUser },
    errors: ['email_exists_in_pool', 'invalid_token'],
    handle: async (deps, { body, origin }) => {
      const { user } = await undoEmailChange(deps, body.token, { caller: undefined, origin })
      return ok({ user })
    },
  }),
]
