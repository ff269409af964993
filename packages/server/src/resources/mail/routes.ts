import { accepted, ok, type Route, route, section } from '../../http/route.ts'
import { appParams } from '../../lib/fields.ts'
import { previewMail, requestMail, sendTestMail } from './mail.ts'
import type { TokenPurpose } from './mail-tokens.ts'
import { mailPreview, mailRequestBody, previewParams, previewQuery, queued, testMailBody, testMailOutcome } from './schema.ts'

export const mailRoutes = section('Account mail', [
  mailRoute('verify_email', '/auth/email/resend', 'Request another mail to verify the address'),
  mailRoute('reset_password', '/auth/password/forgot', 'Request a mail to set a new password'),
  mailRoute('magic_link', '/auth/magic-link', 'Request a mail to sign in with'),
  route({
    method: 'GET',
    path: '/admin/apps/{appId}/mails/{mail}',
    summary: 'Show a mail of an app as its readers would get it',
    description: 'It is about a made-up user, and its links lead nowhere.',
    auth: 'admin_reader',
    params: previewParams,
    query: previewQuery,
    responses: { 200: mailPreview },
    errors: [],
    handle: async (deps, { params, query }) => ok(await previewMail(deps, params.appId, params.mail, query.language)),
  }),
  route({
    method: 'POST',
    path: '/admin/apps/{appId}/test-mail',
    summary: 'Send a test mail',
    description:
      'Goes to the mail server at once, past the outbox, and says what became of it. An admin can send ten in an hour. A dry run ' +
      'sends nothing.',
    auth: 'system_admin',
    params: appParams,
    body: testMailBody,
    responses: { 200: testMailOutcome },
    errors: ['rate_limited'],
    handle: async (deps, { params, body, ...actor }) => ok(await sendTestMail(deps, params.appId, body, actor)),
    plan: async (deps, { params }) => {
      await previewMail(deps, params.appId, 'test', undefined)
      return ok({ accepted: false, status: null, error: null })
    },
  }),
])

/** The route for one purpose. Only the mailbox learns whether its address is known. */
function mailRoute(purpose: TokenPurpose, path: string, summary: string): Route {
  return route({
    method: 'POST',
    path,
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
