import { userSubject } from '../../nouns/user-commands.ts'
import { getUserDetail, isAbsent } from '../../nouns/user-records.ts'
import { record } from '../../output/output.ts'
import { confirmYes } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'

export const resetTwoFactor = command({
  path: 'user reset-two-factor',
  options: { user: userSubject },
  summary: 'Remove the second factor of a user',
  description:
    'For a user who lost the device and the recovery codes. Make sure that the request comes from them: from then on the password is ' +
    'enough to log in, until they set up another factor. Sessions continue, also on a lost device; user logout ends them. The user is ' +
    'notified by mail. Repeating it changes nothing.',
  examples: [
    'user reset-two-factor bob@example.com --yes',
    'user reset-two-factor bob@example.com@@staff --reason "lost phone, called back"',
    'user reset-two-factor bob@example.com --dry-run',
  ],
  confirms: 'yes',
  async run(tools, { user }) {
    const { api } = tools
    await confirmYes(tools, `remove the second factor of ${user}`)
    const { id, email, two_factor } = await getUserDetail(api, user)
    const of = { user_id: id, email }
    if (!two_factor) return record(of, 'unchanged')
    try {
      await api.DELETE('/api/v1/admin/users/{userId}/2fa', { params: { path: { userId: id } } })
    } catch (error) {
      if (!isAbsent(error)) throw error
      return record(of, 'unchanged')
    }
    tools.io.note(`sessions on the lost device continue: authctl user logout ${user} ends them all`)
    tools.io.note('too many wrong codes may have locked the account as well: authctl user unlock lifts the lock')
    return record(of, 'reset')
  },
})
