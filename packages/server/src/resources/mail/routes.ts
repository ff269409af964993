import { accepted, ok, okPage, type Route, route, section } from '../../http/route.ts'
import { getMail, listMails, listMailsQuery, mailPage, mailRecord, resendMail } from './mail-records.ts'
import type { TokenPurpose } from './mail-tokens.ts'
import { previewMail, requestMail, sendTestMail } from './request-mail.ts'
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
    handle: async (deps, { params, query }) => ok(await previewMail(deps, params.appId, params.mail, query.language)),
  }),
  route({
    method: 'GET',
    path: '/admin/mails',
    summary: 'List what became of mails, newest first',
    description:
      'To whom, in which state, and why; never what a mail says. Mails are kept for AUTH_RETENTION_DAYS after their end.',
    auth: 'help_desk_reader',
    query: listMailsQuery,
    responses: { 200: mailPage },
    handle: async (deps, { query }) => okPage(await listMails(deps, query)),
  }),
  route({
    method: 'GET',
    path: '/admin/mails/{mailId}',
    summary: 'Show what became of a mail',
    auth: 'help_desk_reader',
    responses: { 200: mailRecord },
    handle: async (deps, { params }) => ok(await getMail(deps, params.mailId)),
  }),
  route({
    method: 'POST',
    path: '/admin/mails/{mailId}/resend',
    summary: 'Send a mail again that was given up',
    description:
      'It goes to the same address, with a new link if it has one, and gets all attempts of a new mail. A mail whose link or code has ' +
      'ended or was used is not sent again.',
    auth: 'help_desk',
    // A mail without a user goes to an invited address, or to one that nobody has.
    helps: async (deps, { mailId }) => (await getMail(deps, mailId)).user_id ?? undefined,
    responses: { 202: mailRecord },
    errors: ['mail_not_kept', 'mail_outdated', 'mail_pending'],
    handle: async (deps, { params, ...actor }) => ({ status: 202, body: await resendMail(deps, params.mailId, actor) }),
  }),
  route({
    method: 'POST',
    path: '/admin/apps/{appId}/test-mail',
    summary: 'Send a test mail',
    description:
      'Goes to the mail server at once, past the outbox, and says what became of it. An admin can send ten in an hour. A dry run ' +
      'sends nothing.',
    auth: 'system_admin',
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
      await requestMail(deps, purpose, body, { caller: undefined, origin })
      return accepted()
    },
  })
}
