import { accepted, ok, type Route, route } from '../../http/route.ts'
import { passwordNote, proofErrors } from '../sign-in/prove-again.ts'
import {
  changeEmailBody,
  changeRequested,
  confirmChangeBody,
  confirmEmailChange,
  disownEmail,
  disownEmailBody,
  requestEmailChange,
  undoChangeBody,
  undoEmailChange,
  verifiedUser,
  verifyEmail,
  verifyEmailBody,
} from './email.ts'

export const emailRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/auth/email/verify',
    tag: 'Account mail',
    summary: 'Verify an e-mail address with the token from a mail',
    description:
      'To prove the account, the caller must also show that it is theirs: with its `password`, or with the bearer of one of its ' +
      'sessions. Without that, the address is verified, but the account stays unproven: apps with `require_verified_email` stay ' +
      'closed, and the first magic link, password reset or trusted provider takes the account over. If a second factor is ' +
      'active, the password of an unproven account needs a code too. Wrong credentials do not spend the token.',
    auth: 'public',
    body: verifyEmailBody,
    responses: { 200: verifiedUser },
    errors: ['account_locked', 'invalid_credentials', 'invalid_token', 'invalid_two_factor_code', 'two_factor_required'],
    handle: async (deps, { body, bearer, origin }) => {
      const { user } = await verifyEmail(deps, { ...body, bearer }, { caller: undefined, origin })
      return ok({ user })
    },
  }),
  route({
    method: 'POST',
    path: '/auth/email/disown',
    tag: 'Account mail',
    summary: 'Report, with the token from a verification mail, that the account is not yours',
    description: 'Deletes the account if it is unproven. Any other account stays. The token is spent either way.',
    auth: 'public',
    body: disownEmailBody,
    responses: { 204: null },
    errors: ['invalid_token'],
    handle: async (deps, { body, origin }) => disownEmail(deps, body.token, { caller: undefined, origin }),
  }),
  route({
    method: 'POST',
    path: '/auth/email/change',
    tag: 'Account',
    summary: 'Request a change of the e-mail address',
    description: `Mails a link to the new address, and tells the present one if it is proven. Nothing changes until the new address is confirmed. For an account without a password, which needs a login in the last 10 minutes, a link to the present address comes first: it allows the change, and then the mail to the new address is sent. ${passwordNote}`,
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
    summary: 'Change the e-mail address with the token from a mail',
    description:
      'Requires the `password` of the account or a bearer of one of its sessions. Sessions continue. The old address, if it was ' +
      'proven, gets a mail with a link that undoes the change for 72 hours. The token of a mail that asks an account without a ' +
      'password to allow a change needs neither: it changes nothing yet, and the mail to the new address is sent. Links of both ' +
      'kinds lead to `/confirm-email`; in the answer, `user.email` shows whether the address changed.',
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
    summary: 'Undo a change of the e-mail address with the token from the notice',
    description:
      'Restores the old address, whatever changed since. Ends every session of the account, in every app, removes the password, ' +
      'second factor and providers that came after the change, and mails a link to set a new password.',
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
