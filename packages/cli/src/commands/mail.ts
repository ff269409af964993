import { bodyOf } from '../api/api-client.ts'
import { Failure } from '../command-line/exit-codes.ts'
import { positional, requiredText, text } from '../command-line/options.ts'
import { parseAppRef } from '../nouns/app-ref.ts'
import { languages, mails } from '../nouns/mails.ts'
import { record } from '../output/output.ts'
import { writeFile } from '../terminal/write-file.ts'
import { command } from '../tools/command.ts'

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
