import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, pages } from '../api/api-client.ts'
import { parseExpiry } from '../command-line/duration.ts'
import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import { type Input, type Options, positional, requiredText, text, texts } from '../command-line/options.ts'
import { type Result, record } from '../output/render.ts'
import { confirmName, confirmYes } from '../terminal/prompt.ts'
import { isUuid } from '../text/uuid.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'
import { listCommand } from '../tools/list-command.ts'

const scopes = [
  'permissions:register',
  'users:register_or_return',
  'users:override',
  'tokens:introspect',
  'tokens:issue',
  'limits:exempt',
  'users:changes',
  'admin:read',
  'admin:configure',
] as const
type Scope = (typeof scopes)[number]

type ServiceAccount = components['schemas']['ServiceAccount']

/** Finds a service account by id or name. Throws `notFound`. */
async function getServiceAccount(api: Api, typed: string): Promise<ServiceAccount> {
  const wanted = isUuid(typed) ? typed.toLowerCase() : undefined
  const all = pages((query) => bodyOf(api.GET('/api/v1/admin/service-accounts', { params: { query } })))
  for await (const page of all) {
    const found = page.find(({ id, name }) => (wanted === undefined ? name === typed : id === wanted))
    if (found) return found
  }
  throw new Failure('notFound', `no service account is named ${typed}`, {
    code: 'service_account_not_found',
    hint: 'authctl service-account list shows all of them',
  })
}

/** The options that `service-account permit` and `service-account forbid` share. */
const heldPermissionOptions = {
  account: positional('ACCOUNT', 'Name or id of the service account'),
  permission: texts('PERMISSION', 'Codes such as orders:read; permission list shows them'),
} satisfies Options

/** Adds or removes permissions in one write. */
async function patchHeldPermissions(
  { api }: Tools,
  { account, permission }: Input<typeof heldPermissionOptions>,
  change: { member: 'add' | 'remove'; done: 'permitted' | 'forbidden' },
): Promise<Result> {
  if (!permission?.length) throw usageFailure('--permission is required')
  const before = await getServiceAccount(api, account)
  const params = { path: { serviceAccountId: before.id } }
  const body = { [change.member]: [...new Set(permission)] }
  const after = await bodyOf(api.PATCH('/api/v1/admin/service-accounts/{serviceAccountId}/permissions', { params, body }))
  const isUnchanged = JSON.stringify(after.permissions) === JSON.stringify(before.permissions)
  const { id, name, permissions } = after
  return record({ id, name, permissions }, isUnchanged ? 'unchanged' : change.done)
}

export const createServiceAccount = command({
  path: 'service-account create',
  options: {
    name: positional('NAME', 'What it is for'),
    service: requiredText('SERVICE', 'Service whose permissions it may register', { completes: 'services' }),
    scope: texts('SCOPE', `What it may do: ${scopes.join(', ')}. Default: the first`, { completes: scopes }),
    app: texts('CODE', 'Apps that its scopes apply to; required with every scope but the first', { completes: 'apps' }),
    expires: text('TIME', 'When its token ends: 2027-01-31, 2027-01-31T18:00:00Z, or 90d from now. Default: never'),
  },
  summary: 'Create a service account and print its token',
  description: 'The token is shown only once.',
  examples: [
    'service-account create "billing deploys" --service billing',
    'service-account create importer --service crm --scope users:register_or_return --app shop wiki --expires 90d',
    'service-account create "billing deploys" --service billing --json',
  ],
  async run({ api, io, now }, input) {
    const { name, service, scope, app, expires } = input
    const body = {
      name,
      service,
      // Not checked here: the service refuses an unknown scope by name.
      ...(scope === undefined ? {} : { scopes: scope as Scope[] }),
      ...(app === undefined ? {} : { app_codes: app }),
      ...(expires === undefined ? {} : { expires_at: parseExpiry(expires, now()) }),
    }
    const account = await bodyOf(api.POST('/api/v1/admin/service-accounts', { body }))
    io.note('the token is not shown again')
    return record(account, 'created')
  },
})

export const listServiceAccounts = listCommand({
  path: 'service-account list',
  summary: 'List service accounts, newest first',
  examples: ['service-account list', 'service-account list --service billing', 'service-account list --json'],
  filters: { service: text('SERVICE', 'Only accounts of this service', { completes: 'services' }) },
  read: (api, filters, page) => api.GET('/api/v1/admin/service-accounts', { params: { query: { ...filters, ...page } } }),
  columns: [
    'name',
    'service',
    'scopes',
    ['apps', (account) => account.app_codes],
    'permissions',
    'expires_at',
    'last_used_at',
    'id',
  ],
  none: 'no service accounts',
})

export const permitServiceAccount = command({
  path: 'service-account permit',
  summary: 'Give permissions to a service account',
  description: 'Its next machine tokens carry them, at apps whose services declare them. Repeating it changes nothing.',
  examples: [
    'service-account permit billing --permission orders:read',
    'service-account permit billing --permission orders:read orders:refund --json',
    'service-account permit billing --permission orders:read --dry-run',
  ],
  options: heldPermissionOptions,
  run: runPermitServiceAccount,
})

function runPermitServiceAccount(tools: Tools, input: Input<typeof heldPermissionOptions>): Promise<Result> {
  return patchHeldPermissions(tools, input, { member: 'add', done: 'permitted' })
}

export const forbidServiceAccount = command({
  path: 'service-account forbid',
  summary: 'Remove permissions from a service account',
  description: 'Its machine tokens stop working at once, at every app. Permissions that it does not have change nothing.',
  examples: [
    'service-account forbid billing --permission orders:read',
    'service-account forbid billing --permission orders:read orders:refund --json',
    'service-account forbid billing --permission orders:read --dry-run',
  ],
  options: heldPermissionOptions,
  run: runForbidServiceAccount,
})

function runForbidServiceAccount(tools: Tools, input: Input<typeof heldPermissionOptions>): Promise<Result> {
  return patchHeldPermissions(tools, input, { member: 'remove', done: 'forbidden' })
}

export const updateServiceAccount = command({
  path: 'service-account update',
  options: {
    account: positional('ACCOUNT', 'Name or id of the service account'),
    name: text('NAME', 'New name'),
    scope: texts('SCOPE', `All that it may do: ${scopes.join(', ')}`, { completes: scopes }),
    app: texts('CODE', 'All apps that its scopes apply to', { completes: 'apps' }),
    expires: text('TIME', 'When its token ends: 2027-01-31, 2027-01-31T18:00:00Z, 90d from now, or never'),
  },
  summary: 'Change the name, scopes, apps or expiry of a service account',
  description:
    'Its token stays the same. Values that are not given stay unchanged; a list is replaced as a whole. If the account loses ' +
    'tokens:issue or an app, or ends sooner, its machine tokens stop working at once. Permissions: see permit and forbid.',
  examples: [
    'service-account update "billing deploys" --expires 90d',
    'service-account update importer --scope users:register_or_return limits:exempt --app shop wiki',
    'service-account update importer --name "crm import" --dry-run',
  ],
  async run({ api, now }, { account, name, scope, app, expires }) {
    const body = {
      ...(name === undefined ? {} : { name }),
      // Not checked here: the service refuses an unknown scope by name.
      ...(scope === undefined ? {} : { scopes: scope as Scope[] }),
      ...(app === undefined ? {} : { app_codes: app }),
      ...(expires === undefined ? {} : { expires_at: parseExpiry(expires, now()) }),
    }
    if (Object.keys(body).length === 0)
      throw usageFailure('--name, --scope, --app or --expires is required', 'nothing was changed')
    const before = await getServiceAccount(api, account)
    const path = { serviceAccountId: before.id }
    const after = await bodyOf(api.PATCH('/api/v1/admin/service-accounts/{serviceAccountId}', { params: { path }, body }))
    return record(after, before.updated_at === after.updated_at ? 'unchanged' : 'updated')
  },
})

export const rotateServiceAccount = command({
  path: 'service-account rotate',
  options: { account: positional('ACCOUNT', 'Name or id of the service account') },
  summary: 'Give a service account a new token and print it',
  description: 'The old token stops working at once. The new one is shown only once.',
  examples: [
    'service-account rotate "billing deploys" --yes',
    'service-account rotate 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --yes --json',
    'service-account rotate "billing deploys" --dry-run',
  ],
  confirms: 'yes',
  async run(tools, { account }) {
    const { api, io } = tools
    await confirmYes(tools, `revoke the token of ${account} and create another`)
    const path = { serviceAccountId: (await getServiceAccount(api, account)).id }
    const rotated = await bodyOf(api.POST('/api/v1/admin/service-accounts/{serviceAccountId}/rotate', { params: { path } }))
    io.note('the token is not shown again')
    return record(rotated, 'rotated')
  },
})

export const deleteServiceAccount = command({
  path: 'service-account delete',
  options: { account: positional('ACCOUNT', 'Name or id of the service account') },
  summary: 'Delete a service account',
  description: 'Its token stops working at once. Confirm with the name, even if you give the id.',
  examples: [
    'service-account delete importer --confirm importer',
    'service-account delete 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --confirm importer',
    'service-account delete importer --dry-run',
  ],
  confirms: 'name',
  async run(tools, { account }) {
    const { id, name, service } = await getServiceAccount(tools.api, account)
    await confirmName(tools, name, `delete the service account ${name}`)
    await tools.api.DELETE('/api/v1/admin/service-accounts/{serviceAccountId}', { params: { path: { serviceAccountId: id } } })
    return record({ id, name, service }, 'deleted')
  },
})
