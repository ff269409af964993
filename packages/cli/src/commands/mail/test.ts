import { bodyOf } from '../../api/api-client.ts'
import { Failure } from '../../command-line/exit-codes.ts'
import { requiredText, text } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { languages } from '../../nouns/mails.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

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
