import { bodyOf } from '../../api/api-client.ts'
import { positional, requiredText, text } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { languages, mails } from '../../nouns/mails.ts'
import { writeFile } from '../../terminal/write-file.ts'
import { command } from '../../tools/command.ts'

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
