import { accepted, type Route, route } from '../../http/route.ts'
import { requestMail } from './request-mail.ts'
import { mailRequestBody, queued } from './schema.ts'
import type { TokenPurpose } from './token-purpose.ts'

export const mailRoutes: Route[] = [
  mailRoute('verify_email', '/auth/email/resend', 'Request another mail to verify the address'),
  mailRoute('reset_password', '/auth/password/forgot', 'Request a mail to set a new password'),
  mailRoute('magic_link', '/auth/magic-link', 'Request a mail to log in with'),
]

/** The route for one purpose. Only the mailbox learns whether its address is known. */
function mailRoute(purpose: TokenPurpose, path: string, summary: string): Route {
  return route({
    method: 'POST',
    path,
    tag: 'Account mail',
    summary,
    description:
      'The answer is always the same. A mail is only sent if a user of the app has the address, and at most three times in 15 ' +
      'minutes. A newer link invalidates earlier links for the same purpose.',
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
