import { type Api, bodyOf, type Pages, pages, regrouped } from '../../api/api-client.ts'
import type { components } from '../../api-types.ts'
import { count, type Input, text } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { findUserId, userRefOf, userRefSyntax } from '../../nouns/user-ref.ts'
import { list, type Result } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

type Grant = components['schemas']['Grant'] & { user?: components['schemas']['User'] }

const options = {
  app: text('CODE', 'Only grants of this app', { completes: 'apps' }),
  user: text('USER', `Only grants of this user: ${userRefSyntax}`),
  limit: count('N', 'At most so many; all unless given'),
}

export const listGrants = command({
  path: 'grant list',
  summary: 'List who may, or might once, enter which app',
  examples: ['grant list --app shop', 'grant list --user bob@example.com', 'grant list -o ndjson'],
  options,
  run: runListGrants,
})

export async function runListGrants({ api }: Tools, { app, user, limit }: Input<typeof options>): Promise<Result> {
  const appRef = app === undefined ? undefined : parseAppRef(app)
  const grants =
    user !== undefined
      ? grantsOfUser(api, await findUserId(api, user), appRef)
      : appRef !== undefined
        ? grantsOfApp(api, appRef)
        : regrouped(grantsOfAllApps(api))
  return list(
    atMost(grants, limit),
    [
      ['app', (grant) => grant.app_code],
      ['user', (grant) => (grant.user ? userRefOf(grant.user) : grant.user_id)],
      'status',
      ['via', (grant) => grant.granted_via],
      'granted_at',
      'expires_at',
      'revoked_at',
    ],
    'no grants',
  )
}

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

async function* atMost<T>(all: Pages<T>, limit = Number.POSITIVE_INFINITY): Pages<T> {
  let left = limit
  for await (const page of all) {
    yield page.slice(0, left)
    left -= page.length
    if (left <= 0) return
  }
}
