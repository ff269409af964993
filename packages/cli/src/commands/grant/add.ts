import { bodyOf } from '../../api/api-client.ts'
import { parseExpiry } from '../../command-line/duration.ts'
import { requiredText, text } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { confirmUnproven } from '../../nouns/confirm-unproven.ts'
import { forUsers, forUsersTogether, readUsers, userOptions } from '../../nouns/for-users.ts'
import { grantAccess, grantAccessToMany } from '../../nouns/grant-access.ts'
import { command } from '../../tools/command.ts'

export const addGrant = command({
  path: 'grant add',
  options: {
    app: requiredText('CODE', 'Code or id of the app', { completes: 'apps' }),
    ...userOptions,
    expires: text('TIME', 'When the access ends: 2027-01-31, 2027-01-31T18:00:00Z, 30d from now, or never for no end'),
  },
  summary: 'Give a user access to an app',
  description:
    'A revoked grant becomes active again; its old tokens stay invalid. On a terminal, asks first if the account was registered by its ' +
    'user or a provider and was never proven to be theirs.',
  examples: [
    'grant add --app shop --user bob@example.com',
    'grant add --app shop --user bob@example.com@@staff --expires 30d --reason "audit in March"',
    'grant add --app shop --from-file users.txt --json',
  ],
  async run(tools, input) {
    const { api, settings, now } = tools
    const appId = parseAppRef(input.app)
    const expires_at = input.expires === undefined ? undefined : parseExpiry(input.expires, now())
    const body = {
      ...(expires_at === undefined ? {} : { expires_at }),
      ...(settings.reason === undefined ? {} : { reason: settings.reason }),
    }
    const users = await readUsers(tools, input)
    if (users.isList) {
      // A missing app is one failure, not one for each user.
      await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId } } }))
      return forUsersTogether(tools, users, (refs) => grantAccessToMany(tools, appId, refs, body))
    }
    return forUsers(tools, users, async (userId) => {
      await confirmUnproven(tools, userId)
      return grantAccess(api, { userId, appId }, body)
    })
  },
})
