import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, pages } from '../../api/api-client.ts'
import { Failure } from '../../command-line/exit-codes.ts'
import { requiredText } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import {
  type Answered,
  answered,
  type Change,
  forUsers,
  forUsersTogether,
  readUsers,
  userOptions,
} from '../../nouns/for-users.ts'
import { confirmYes } from '../../terminal/prompt.ts'
import { redactUrl } from '../../text/redact.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

export const revokeGrant = command({
  path: 'grant revoke',
  options: {
    app: requiredText('CODE', 'Code or id of the app', { completes: 'apps' }),
    ...userOptions,
  },
  summary: 'Revoke the access of a user to an app',
  description: 'The tokens of the user for this app stop working at once. Repeating it changes nothing.',
  examples: [
    'grant revoke --app shop --user bob@example.com --yes',
    'grant revoke --app shop --user bob@example.com@@staff',
    'grant revoke --app shop --from-file users.txt --yes --json',
  ],
  confirms: 'yes',
  async run(tools, input) {
    const { api } = tools
    const appId = parseAppRef(input.app)
    const users = await readUsers(tools, input)
    await confirmYes(tools, `revoke the access of ${users.who} to ${input.app}`)
    if (users.isList) {
      // A missing app is one failure, not one for each user.
      await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId } } }))
      return forUsersTogether(tools, users, (refs) => revokeTogether(tools, appId, refs))
    }
    return forUsers(tools, users, (userId) => revoke(api, { userId, appId }))
  },
})

async function revokeTogether(tools: Tools, appId: string, users: string[]): Promise<Answered[]> {
  const path = '/api/v1/admin/apps/{appId}/grants/revoke'
  const revoke = (api: Api, query: { dry_run?: boolean }) =>
    bodyOf(api.POST(path, { params: { path: { appId }, query }, body: { users } }))
  if (!tools.settings.dryRun) return (await revoke(tools.api, {})).items.map(answered)
  const request = `POST ${redactUrl(`${tools.connect().baseUrl}${path.replace('{appId}', appId)}`)}`
  return (await revoke(tools.rehearsalApi, { dry_run: true })).items.map((item) =>
    item.outcome === 'failed' ? answered(item) : { outcome: 'planned', request },
  )
}

async function revoke(api: Api, path: { userId: string; appId: string }): Promise<Change> {
  try {
    const value = await bodyOf(api.DELETE('/api/v1/admin/users/{userId}/apps/{appId}', { params: { path } }))
    return { value, outcome: 'revoked' }
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'not_found') throw error
    return { value: await inactiveGrant(api, path), outcome: 'unchanged' }
  }
}

/** The inactive grant, or only its ids if there is no grant. Throws if the app or the user does not exist. */
async function inactiveGrant(
  api: Api,
  { userId, appId }: { userId: string; appId: string },
): Promise<Partial<components['schemas']['Grant']>> {
  const app = await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId } } }))
  const grants = pages((page) =>
    bodyOf(api.GET('/api/v1/admin/users/{userId}/apps', { params: { path: { userId }, query: page } })),
  )
  for await (const page of grants) {
    const found = page.find((grant) => grant.app_id === app.id)
    if (found) return found
  }
  return { user_id: userId, app_id: app.id, app_code: app.code }
}
