import { bodyOf, pages } from '../../api/api-client.ts'
import { choice, count, requiredText } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { list } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

export const reportTwoFactor = command({
  path: 'two-factor report',
  options: {
    app: requiredText('CODE', 'App that the users can enter', { completes: 'apps' }),
    of: choice(['admins', 'everyone'], 'Only users with a global role besides base_user, or all. Default: everyone'),
    limit: count('N', 'Maximum number of users. Default: all'),
  },
  summary: 'List the users of an app who own neither a second factor nor a passkey',
  description:
    'These users have to set one up once the app requires it (authctl app update CODE --require-two-factor). Tell them before.',
  examples: [
    'two-factor report --app shop',
    'two-factor report --app authctl --of admins',
    'two-factor report --app shop --json',
  ],
  async run({ api }, { app, of, limit }) {
    const path = { appId: parseAppRef(app) }
    const found = pages(
      (page) =>
        bodyOf(
          api.GET('/api/v1/admin/apps/{appId}/without-second-factor', {
            params: { path, query: { ...page, ...(of === undefined ? {} : { of }) } },
          }),
        ),
      limit,
    )
    return list(
      found,
      ['email', ['pool', ({ namespace }) => namespace], ['roles', ({ roles }) => roles.join(' ')], 'user_id'],
      'everyone has one',
    )
  },
})
