import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, type Pages, pages, regrouped } from '../api/api-client.ts'
import { parseExpiry } from '../command-line/duration.ts'
import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import { choice, count, positional, requiredText, text } from '../command-line/options.ts'
import { parseAppRef } from '../nouns/app-ref.ts'
import { confirmUnproven } from '../nouns/confirm-unproven.ts'
import { type Answered, answered, type Change, forUsers, forUsersTogether, readUsers, userOptions } from '../nouns/for-users.ts'
import { grantAccess, grantAccessToMany } from '../nouns/grant-access.ts'
import { findOnlyUserId, findUserId, parseUserRef, shownUser, userRefOf, userRefSyntax } from '../nouns/user-ref.ts'
import type { Column } from '../output/cells.ts'
import { list, record, rowsOf } from '../output/render.ts'
import { confirmYes } from '../terminal/prompt.ts'
import { redactUrl } from '../text/redact.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'
import { listCommand } from '../tools/list-command.ts'

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

type Grant = components['schemas']['Grant'] & { user: components['schemas']['User'] }

export const listGrants = command({
  path: 'grant list',
  options: {
    app: text('CODE', 'Only grants of this app', { completes: 'apps' }),
    user: text('USER', `Only grants of this user: ${userRefSyntax}`),
    state: choice(['active', 'expired', 'revoked'], 'Only grants in this state'),
    expiresBefore: text(
      'TIME',
      'Only grants that end before then, or have ended: 2027-01-31, 2027-01-31T18:00:00Z, 30d from now',
    ),
    limit: count('N', 'Maximum number of grants. Default: all'),
  },
  summary: 'List current and past grants of access to apps',
  examples: ['grant list --app shop', 'grant list --user bob@example.com', 'grant list --state active --expires-before 30d'],
  lists: 'whole',
  async run({ api, now }, { app, user, limit, state, expiresBefore }) {
    const names = new Map<string, string>()
    const appRef = app === undefined ? undefined : parseAppRef(app)
    const filter: GrantFilter = {
      ...(state === undefined ? {} : { effective: state }),
      ...(expiresBefore === undefined ? {} : { expires_before: parseEnd(expiresBefore, now()) }),
    }
    const grants =
      user !== undefined
        ? grantsOfUser(api, await findUserId(api, user), appRef, filter)
        : appRef !== undefined
          ? grantsOfApp(api, appRef, filter)
          : regrouped(grantsOfAllApps(api, filter))
    return list(
      withGranters(api, atMost(grants, limit), names),
      [
        ['app', (grant) => grant.app_code],
        ['user', (grant) => shownUser(userRefOf(grant.user))],
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

interface GrantFilter {
  effective?: Grant['effective']
  expires_before?: string
}

function parseEnd(text: string, now: number): string {
  const end = parseExpiry(text, now)
  if (end === null) throw usageFailure('--expires-before takes a time, not "never"')
  return end
}

function grantsOfApp(api: Api, appId: string, filter: GrantFilter): Pages<Grant> {
  return pages<Grant>((page) =>
    bodyOf(api.GET('/api/v1/admin/apps/{appId}/users', { params: { path: { appId }, query: { ...filter, ...page } } })),
  )
}

async function* grantsOfUser(api: Api, userId: string, appRef: string | undefined, filter: GrantFilter): Pages<Grant> {
  const app =
    appRef === undefined
      ? undefined
      : await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId: appRef } } }))
  const all = pages((page) =>
    bodyOf(api.GET('/api/v1/admin/users/{userId}/apps', { params: { path: { userId }, query: { ...filter, ...page } } })),
  )
  for await (const page of all) yield app ? page.filter((grant) => grant.app_id === app.id) : page
}

async function* grantsOfAllApps(api: Api, filter: GrantFilter): Pages<Grant> {
  const apps = pages((query) => bodyOf(api.GET('/api/v1/admin/apps', { params: { query } })))
  for await (const page of apps) for (const { id } of page) yield* grantsOfApp(api, id, filter)
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

type Step = components['schemas']['Explanation']['steps'][number]
type Detail = NonNullable<Step['detail']>

export const explainGrant = command({
  path: 'grant explain',
  options: {
    app: requiredText('CODE', 'Code or id of the app', { completes: 'apps' }),
    user: requiredText('USER', `User: ${userRefSyntax}`),
    org: text('ID', 'Organization that the login names', { completes: 'organizationIds' }),
  },
  summary: 'Explain why a user can or cannot enter an app',
  description:
    'Replays the steps of a login as if the password and the two-factor code were right, and changes nothing. ' +
    'Stops at the first step that refuses, then lists the steps that would refuse once that one is fixed. Shows the commands that ' +
    'fix them, in order. Exits with 0 whatever the outcome.',
  examples: [
    'grant explain --app shop --user bob@example.com',
    'grant explain --app shop --user bob@example.com@@staff --org 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'grant explain --app shop --user bob@example.com --json',
  ],
  async run({ api }, { app, user, org }) {
    const query = { app: parseAppRef(app), ...(org === undefined ? {} : { organization_id: org }) }
    const explanation = await bodyOf(
      api.GET('/api/v1/admin/explain', { params: { query: { ...query, ...(await whoLogsIn(api, user)) } } }),
    )
    const { steps, further_refusals, outcome } = explanation
    const remedies = [...steps, ...further_refusals].flatMap(({ detail = '' }) => commandsIn(detail))
    return {
      kind: 'report',
      value: explanation,
      parts: [
        rowsOf(steps, columns),
        ...(further_refusals.length > 0 ? ['', 'once that is fixed, this refuses too:', rowsOf(further_refusals, columns)] : []),
        '',
        `outcome: ${outcome}`,
        ...remedies.map((remedy) => `  ${remedy}`),
      ],
    }
  },
})

const columns: Column<Step>[] = [
  'step',
  ['check', ({ name }) => name],
  'ok',
  'code',
  ['detail', ({ detail }) => detail && withoutCommands(detail)],
]

/** An e-mail may be unknown: the service explains that login too. An e-mail with a pool, or an id, must belong to a user. */
async function whoLogsIn(api: Tools['api'], typed: string): Promise<{ user_id: string } | { email: string }> {
  const ref = parseUserRef(typed)
  if ('id' in ref || ref.pool !== undefined) return { user_id: await findUserId(api, typed) }
  const id = await findOnlyUserId(api, typed)
  return id === undefined ? { email: ref.email } : { user_id: id }
}

/** The service ends a detail with one or several commands that help: "…: authctl x or authctl y". */
function commandsIn(detail: Detail): string[] {
  const [, ...commands] = detail.split(/(?:: | or )(?=authctl )/)
  return commands
}

function withoutCommands(detail: Detail): string {
  const [told = ''] = detail.split(/: (?=authctl )/, 1)
  return told
}

export const listRequests = listCommand({
  path: 'grant request list',
  summary: 'List requests for access to apps, newest first',
  examples: ['grant request list', 'grant request list --app shop --status denied', 'grant request list -o ndjson'],
  filters: {
    app: text('CODE', 'Only requests for this app', { completes: 'apps' }),
    status: choice(['open', 'approved', 'denied'], 'Only requests with this status. Default: open'),
  },
  read: (api, { app, status = 'open' }, page) => {
    const query = { status, ...(app === undefined ? {} : { app: parseAppRef(app) }), ...page }
    return api.GET('/api/v1/admin/access-requests', { params: { query } })
  },
  columns: [
    // Needed to approve a request. A narrow terminal drops the first column last.
    ['id', ({ id }) => id, 'needed'],
    ['app', ({ app }) => app.code],
    ['user', ({ user }) => shownUser(userRefOf(user))],
    'created_at',
    'status',
    'message',
    'reason',
  ],
  none: 'no requests',
})

export const approveRequest = command({
  path: 'grant request approve',
  options: {
    request: positional('REQUEST', 'Id of the request, as grant request list shows it'),
    expires: text('TIME', 'When the access ends: 2027-01-31, 2027-01-31T18:00:00Z, or 30d from now'),
  },
  summary: 'Approve a request for access to an app',
  description: 'Grants access as grant add does. The user is notified by mail; --reason is for other admins.',
  examples: [
    'grant request approve 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'grant request approve 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --expires 30d --reason "audit in March"',
    'grant request approve 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --dry-run',
  ],
  async run({ api, settings, now }, { request, expires }) {
    const body = {
      ...(expires === undefined ? {} : { expires_at: parseExpiry(expires, now()) }),
      ...(settings.reason === undefined ? {} : { reason: settings.reason }),
    }
    const params = { path: { requestId: request } }
    return record(await bodyOf(api.POST('/api/v1/admin/access-requests/{requestId}/approve', { params, body })), 'granted')
  },
})

export const denyRequest = command({
  path: 'grant request deny',
  options: { request: positional('REQUEST', 'Id of the request, as grant request list shows it') },
  summary: 'Deny a request for access to an app',
  description: 'The user is notified by mail, which includes the --reason, and may ask again.',
  examples: [
    'grant request deny 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'grant request deny 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --reason "Ask your manager first"',
    'grant request deny 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --dry-run',
  ],
  async run({ api, settings }, { request }) {
    const params = { path: { requestId: request } }
    const body = settings.reason === undefined ? {} : { reason: settings.reason }
    return record(await bodyOf(api.POST('/api/v1/admin/access-requests/{requestId}/deny', { params, body })), 'denied')
  },
})
