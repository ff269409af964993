import { bodyOf } from '../../api/api-client.ts'
import { usageFailure } from '../../command-line/exit-codes.ts'
import { text } from '../../command-line/options.ts'
import { userSubject } from '../../nouns/user-commands.ts'
import { getUserDetail } from '../../nouns/user-records.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const updateUser = command({
  path: 'user update',
  options: {
    user: userSubject,
    email: text('EMAIL', 'New address. It is unverified, and tokens with the old one stop working'),
    firstName: text('NAME', 'First name; "" clears it'),
    lastName: text('NAME', 'Last name; "" clears it'),
    locale: text('TAG', 'The language that the user reads, such as de or pt-BR; "" clears it'),
  },
  summary: 'Change the e-mail, the names or the language of a user',
  description: 'Values that are not given stay unchanged.',
  examples: [
    'user update bob@example.com --first-name Robert',
    'user update bob@example.com@@staff --email robert@example.com',
    'user update bob@example.com --last-name "" --dry-run',
  ],
  async run({ api }, { user, ...input }) {
    const { email: newEmail, firstName, lastName, locale: newLocale } = input
    const given = { email: newEmail, first_name: firstName, last_name: lastName, locale: newLocale }
    const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    if (Object.keys(body).length === 0)
      throw usageFailure('--email, --first-name, --last-name or --locale is required', 'nothing was changed')
    const before = await getUserDetail(api, user)
    const path = { userId: before.id }
    const after = await bodyOf(api.PATCH('/api/v1/admin/users/{userId}', { params: { path }, body }))
    const isSame = (['email', 'first_name', 'last_name', 'locale'] as const).every((name) => before[name] === after[name])
    const { id, email, email_verified, first_name, last_name, locale, namespace, status } = after
    return record(
      { id, email, email_verified, first_name, last_name, locale, namespace, status },
      isSame ? 'unchanged' : 'updated',
    )
  },
})
