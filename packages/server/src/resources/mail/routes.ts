import { accepted, type Route, route } from '../../http/route.ts'
import { requestMail } from './request-mail.ts'
import { mailRequestBody, queued } from './schema.ts'
import type { TokenPurpose } from './token-purpose.ts'

export const mailRoutes: Route[] = [
  mailRoute('verify_email', '/auth/email/resend', 'Ask for another mail that verifies the address'),
  mailRoute('reset_password', '/auth/password/forgot', 'Ask for a mail to set a new password'),
  mailRoute('magic_link', '/auth/magic-link', 'Ask for a mail to log in with'),
]

/** The route for one purpose. Only the mailbox learns whether its address is known. */
function mailRoute(purpose: TokenPurpose, path: string, summary: string): Route {
  return route({
    method: 'POST',
    path,
    tag: 'Account mail',
    summary,
    description:
      'One answer, whoever asks: a mail goes out only when a user of the app has the address, and in any 15 minutes three at most. ' +
      'Links that were sent before for the same purpose are dead once a newer one is on its way.',
    auth: 'public',
    body: mailRequestBody,
    responses: { 202: queued },
    errors: ['app_code_required', 'app_inactive', 'app_not_found'],
    handle: async (deps, { body, origin }) => {
      await requestMail(deps, purpose, body, origin)
      return accepted()
    },
  })
}
