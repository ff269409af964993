import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, type Pages, pages, readAll } from '../../api/api-client.ts'
import { usageFailure } from '../../command-line/exit-codes.ts'
import { text } from '../../command-line/options.ts'
import { parsePlainName } from '../../nouns/plain-name.ts'
import { noteUnknownPool } from '../../nouns/pool-names.ts'
import { isAbsent } from '../../nouns/user-records.ts'
import { findUserId } from '../../nouns/user-ref.ts'
import { list } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import { Holders } from '../../user-files/holders.ts'

type User = components['schemas']['User']

/** Left out: every user holds this role, and an import assigns it. */
const everyonesRole = 'base_user'

export const exportUsers = command({
  path: 'user export',
  options: {
    pool: text('POOL', 'Only users of this pool, as home pool or tag', { completes: 'pools' }),
    user: text('USER', 'Everything that the service keeps about this user instead, as the user can download it'),
  },
  summary: 'Print users in the format that user import reads, or everything about one user',
  description:
    'Newest first, without password hashes, because no API returns them: imported users set a password with a reset mail. ' +
    'Apps are those that the user may enter now, without the end of the grant. A suspended user has a member status, which import ' +
    'refuses, so that an import does not let them in. Deleted users are left out. With --user it prints one JSON document with the rows ' +
    'of the user in every table, without secrets; this is audited.',
  examples: [
    'user export > users.ndjson',
    'user export --pool staff -o ndjson > staff.ndjson',
    'user export --user bob@example.com > bob.json',
  ],
  formats: { all: ['ndjson'], terminal: 'ndjson', pipe: 'ndjson' },
  async run(tools, { pool, user }) {
    if (user !== undefined) {
      if (pool !== undefined) throw usageFailure('--pool and --user cannot be given together')
      return list(onePage(await everythingAbout(tools.api, user)), [], '')
    }
    const filter = pool === undefined ? {} : { namespace: parsePlainName(pool, 'pool') }
    return list(noteUnknownPool(tools, pool, exportLines(tools.api, filter)), [], 'no users')
  },
})

async function everythingAbout(api: Api, user: string): Promise<object> {
  const path = { userId: await findUserId(api, user) }
  return bodyOf(api.GET('/api/v1/admin/users/{userId}/export', { params: { path } }))
}

async function* onePage(document: object): Pages<object> {
  yield [document]
}

/** Lists the users of each app and role and joins the lists. A request for each user would take hours instead of minutes. */
async function* exportLines(api: Api, filter: { namespace?: string }): Pages<object> {
  const users = (query: { app?: string; role?: string }) =>
    untilGone(pages((page) => bodyOf(api.GET('/api/v1/admin/users', { params: { query: { ...filter, ...query, ...page } } }))))
  const apps = new Holders(await codesOfApps(api), (app) => users({ app }))
  const roles = new Holders(await codesOfGlobalRoles(api), (role) => users({ role }))
  for await (const page of users({})) {
    const lines: object[] = []
    for (const user of page) lines.push(lineOf(user, await apps.of(user.id), await roles.of(user.id)))
    yield lines
  }
}

/** An app or role that is deleted while the export runs has no users any more. */
async function* untilGone<T>(pages: Pages<T>): Pages<T> {
  try {
    yield* pages
  } catch (thrown) {
    if (!isAbsent(thrown)) throw thrown
  }
}

async function codesOfApps(api: Api): Promise<string[]> {
  const apps = await readAll(pages((page) => bodyOf(api.GET('/api/v1/admin/apps', { params: { query: page } }))))
  return apps.map(({ code }) => code)
}

async function codesOfGlobalRoles(api: Api): Promise<string[]> {
  const roles = await readAll(pages((page) => bodyOf(api.GET('/api/v1/admin/roles', { params: { query: page } }))))
  return roles.filter(({ scope, code }) => scope === 'global' && code !== everyonesRole).map(({ code }) => code)
}

function lineOf(user: User, apps: string[], roles: string[]): object {
  const { email, first_name, last_name, namespace, namespaces, email_verified, status } = user
  const tags = namespaces.filter((pool) => pool !== namespace)
  const line = { email, first_name, last_name, namespace, tags, apps, roles, email_verified }
  return status === 'active' ? line : { ...line, status }
}
