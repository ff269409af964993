import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, type Pages, pages, regrouped } from '../../api/api-client.ts'
import { Failure } from '../../command-line/exit-codes.ts'
import { count, text } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { findUserId, shownUser, userRefOf, userRefSyntax } from '../../nouns/user-ref.ts'
import { list } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

type Grant = components['schemas']['Grant'] & { user?: components['schemas']['User'] }

export const listGrants = command({
  path: 'grant list',
  options: {
    app: text('CODE', 'Only grants of this app', { completes: 'apps' }),
    user: text('USER', `Only grants of this user: ${userRefSyntax}`),
    limit: count('N', 'Maximum number of grants. Default: all'),
  },
  summary: 'List current and past grants of access to apps',
  examples: ['grant list --app shop', 'grant list --user bob@example.com', 'grant list -o ndjson'],
  lists: 'whole',
  async run({ api }, { app, user, limit }) {
    const names = new Map<string, string>()
    const appRef = app === undefined ? undefined : parseAppRef(app)
    const grants =
      user !== undefined
        ? grantsOfUser(api, await findUserId(api, user), appRef)
        : appRef !== undefined
          ? grantsOfApp(api, appRef)
          : regrouped(grantsOfAllApps(api))
    return list(
      withGranters(api, atMost(grants, limit), names),
      [
        ['app', (grant) => grant.app_code],
        ['user', (grant) => (grant.user ? shownUser(userRefOf(grant.user)) : grant.user_id)],
        ['state', (grant) => grant.effective],
        ['via', (grant) => grant.granted_via],
        ['granted by', ({ granted_by }) => granted_by && (names.get(granted_by) ?? granted_by)],
        'reason',
        'granted_at',
        'expires_at',
        'revoked_at',
        ['user_id', (grant) => grant.user_id, 'wide'],
        ['granted_by_id', ({ granted_by }) => granted_by, 'wide'],
      ],
      'no grants',
      ({ user_id, app_code }) => (user === undefined ? user_id : app_code),
    )
  },
})

function grantsOfApp(api: Api, appId: string): Pages<Grant> {
  return pages<Grant>((query) => bodyOf(api.GET('/api/v1/admin/apps/{appId}/users', { params: { path: { appId }, query } })))
}

async function* grantsOfUser(api: Api, userId: string, appRef: string | undefined): Pages<Grant> {
  const app =
    appRef === undefined
      ? undefined
      : await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId: appRef } } }))
  const all = pages((query) => bodyOf(api.GET('/api/v1/admin/users/{userId}/apps', { params: { path: { userId }, query } })))
  for await (const page of all) yield app ? page.filter((grant) => grant.app_id === app.id) : page
}

async function* grantsOfAllApps(api: Api): Pages<Grant> {
  const apps = pages((query) => bodyOf(api.GET('/api/v1/admin/apps', { params: { query } })))
  for await (const page of apps) for (const { id } of page) yield* grantsOfApp(api, id)
}

/** Looks up the name of each user who granted access, once. An account that is not a user's keeps its id. */
async function* withGranters(api: Api, all: Pages<Grant>, names: Map<string, string>): Pages<Grant> {
  for await (const page of all) {
    for (const { granted_by } of page) {
      if (granted_by && !names.has(granted_by)) names.set(granted_by, await nameOf(api, granted_by))
    }
    yield page
  }
}

async function nameOf(api: Api, userId: string): Promise<string> {
  try {
    const user = await bodyOf(api.GET('/api/v1/admin/users/{userId}', { params: { path: { userId } } }))
    return user.email === '' ? userId : shownUser(userRefOf(user))
  } catch (error) {
    if (error instanceof Failure && error.ending === 'notFound') return userId
    throw error
  }
}

async function* atMost<T>(all: Pages<T>, limit = Number.POSITIVE_INFINITY): Pages<T> {
  let left = limit
  for await (const page of all) {
    yield page.slice(0, left)
    left -= page.length
    if (left <= 0) return
  }
}
