import { bodyOf, pages } from '../api/api-client.ts'
import { Failure } from '../command-line/exit-codes.ts'
import { choice, count, positional, requiredText, text } from '../command-line/options.ts'
import { parseAppRef } from '../nouns/app-ref.ts'
import { type Mail, sayMail } from '../nouns/mail-states.ts'
import { languages, mails } from '../nouns/mails.ts'
import { findUserId, shownUser, userRefSyntax } from '../nouns/user-ref.ts'
import type { Column } from '../output/cells.ts'
import { list, record } from '../output/render.ts'
import { writeFile } from '../terminal/write-file.ts'
import { isUuid } from '../text/uuid.ts'
import { command } from '../tools/command.ts'

const mailColumns: Column<Mail>[] = [
  // Needed to send it again.
  ['id', ({ id }) => id, 'needed'],
  'created_at',
  ['mail', ({ purpose }) => purpose],
  ['to', ({ user, email }) => (user === null ? email : shownUser(user))],
  ['app', ({ app_code }) => app_code],
  'status',
  ['state', sayMail],
  ['email', ({ email }) => email, 'wide'],
  ['user_id', ({ user_id }) => user_id, 'wide'],
  ['app_id', ({ app_id }) => app_id, 'wide'],
  ['request_id', ({ request_id }) => request_id, 'wide'],
]

export const listMails = command({
  path: 'mail list',
  options: {
    user: text('USER', `Only mails to this user: ${userRefSyntax}`),
    status: choice(['pending', 'delivered', 'failed', 'unsent'], 'Only mails with this status'),
    limit: count('N', 'Maximum number of mails. Default: all'),
  },
  summary: 'List what became of mails, newest first',
  description:
    'A pending mail waits for its first try or another one. A delivered one was accepted by the mail server. One that failed was given ' +
    'up, and mail resend sends it again. For one that is unsent, no mail was due. Never shows what a mail says. Who asked for a mail, and got none, is in the audit: ' +
    'audit list --event mail.requested --email ADDRESS.',
  examples: ['mail list --user bob@example.com', 'mail list --status failed', 'mail list --status pending -o ndjson'],
  lists: 'long',
  async run({ api }, { user, status, limit }) {
    const of = user === undefined ? {} : { user_id: await findUserId(api, user) }
    const query = { ...of, ...(status === undefined ? {} : { status }) }
    const all = pages((page) => bodyOf(api.GET('/api/v1/admin/mails', { params: { query: { ...query, ...page } } })), limit)
    return list(all, mailColumns, 'no mails')
  },
})

export const resendMail = command({
  path: 'mail resend',
  options: { id: positional('ID', 'The mail, as mail list shows it') },
  summary: 'Send a mail again that was given up',
  description:
    'It goes to the same address, with a new link if it has one. If its link or code has ended or was used, it is refused and the message ' +
    'says what to do instead. mail list shows what becomes of it.',
  examples: [
    'mail resend 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'mail resend 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --dry-run',
    'mail resend 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --reason "The mailbox was full"',
  ],
  async run({ api }, { id }) {
    if (!isUuid(id)) {
      throw new Failure('invalid', `"${id}" is not the id of a mail`, {
        code: 'invalid_mail',
        hint: 'authctl mail list shows the ids',
      })
    }
    const mail = await bodyOf(api.POST('/api/v1/admin/mails/{mailId}/resend', { params: { path: { mailId: id } } }))
    return record({ id, mail: mail.purpose, to: mail.email }, 'queued')
  },
})

export const previewMail = command({
  path: 'mail preview',
  options: {
    mail: positional('MAIL', 'Which mail, such as reset_password', { completes: mails }),
    app: requiredText('CODE', 'Code or id of the app', { completes: 'apps' }),
    language: text('LANGUAGE', 'Default: the language of the app', { completes: languages }),
    out: text('FILE', 'Writes the HTML part to this file, to open it in a browser'),
  },
  summary: 'Show a mail of an app as its readers would get it',
  description: 'The mail is about a made-up user, and its links lead nowhere. Nothing is sent.',
  examples: [
    'mail preview reset_password --app shop',
    'mail preview verify_email --app shop --language de --out verify.html',
    'mail preview password_changed --app shop --json',
  ],
  async run({ api, io, settings }, { mail, app, language, out }) {
    const params = { path: { appId: parseAppRef(app), mail: mail as 'test' }, query: { language: language as 'en' | undefined } }
    const preview = await bodyOf(api.GET('/api/v1/admin/apps/{appId}/mails/{mail}', { params }))
    if (out !== undefined && !settings.dryRun) {
      writeFile(out, preview.html)
      io.note(`${out}: the HTML part`)
    }
    const head = [
      `From:     ${preview.from ?? '(MAIL_FROM)'}`,
      `Reply-To: ${preview.reply_to ?? '(nobody)'}`,
      `Subject:  ${preview.subject}`,
    ]
    return { kind: 'report', value: preview, parts: [...head, '', ...preview.text.trimEnd().split('\n')] }
  },
})

export const testMail = command({
  path: 'mail test',
  options: {
    to: requiredText('EMAIL', 'Address that the mail goes to'),
    app: requiredText('CODE', 'Code or id of the app', { completes: 'apps' }),
    language: text('LANGUAGE', 'Default: the language of the app', { completes: languages }),
  },
  summary: 'Send a test mail through the mail server of the service',
  description: 'Says what the mail server answered. An admin can send ten in an hour.',
  examples: [
    'mail test --to me@example.com --app shop',
    'mail test --to me@example.com --app shop --language de',
    'mail test --to me@example.com --app shop --dry-run',
  ],
  async run({ api }, { to, app, language }) {
    const params = { path: { appId: parseAppRef(app) } }
    const body = { to, ...(language === undefined ? {} : { language: language as 'en' }) }
    const { accepted, status, error } = await bodyOf(api.POST('/api/v1/admin/apps/{appId}/test-mail', { params, body }))
    if (accepted) return record({ to, app }, 'sent')
    throw new Failure('failures', `the mail server did not take the mail: ${error}`, {
      code: 'mail_refused',
      hint: status === null ? 'is SMTP_URL of the service right, and the mail server up?' : undefined,
    })
  },
})
