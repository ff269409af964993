import { type Api, bodyOf, inTurn } from '../api/api-client.ts'
import { usageFailure } from '../command-line/exit-codes.ts'
import {
  choice,
  choiceWithStandard,
  type Input,
  type Options,
  positional,
  requiredText,
  text,
  texts,
} from '../command-line/options.ts'
import { parsePlainName } from '../nouns/plain-name.ts'
import { type Result, record, rowsOf } from '../output/render.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'
import { listCommand } from '../tools/list-command.ts'
import { deleteCommand } from '../tools/subject-commands.ts'

const roleSubject = positional('CODE', 'Code of the role', { completes: 'roles' })

/** The options that `role permit` and `role forbid` share. */
const permissionOptions = {
  code: roleSubject,
  permission: texts('PERMISSION', 'Codes such as orders:read; permission list shows them'),
} satisfies Options

interface Permitted {
  api: Api
  path: { roleCode: string }
  /** As given, without duplicates. */
  permissions: string[]
  /** The permissions that the role has now. */
  held: string[]
}

async function readPermissionsOf({ api }: Tools, input: Input<typeof permissionOptions>): Promise<Permitted> {
  if (!input.permission?.length) throw usageFailure('--permission is required')
  const path = { roleCode: parsePlainName(input.code, 'role') }
  const { items } = await bodyOf(api.GET('/api/v1/admin/roles/{roleCode}/permissions', { params: { path } }))
  return { api, path, permissions: [...new Set(input.permission)], held: items.map(({ code }) => code) }
}

export const listRoles = listCommand({
  path: 'role list',
  summary: 'List roles, by code',
  examples: ['role list', 'role list --json', 'role list --limit 20'],
  filters: {},
  read: (api, _, query) => api.GET('/api/v1/admin/roles', { params: { query } }),
  columns: ['code', 'name', 'scope', 'built_in', 'assignable_by', 'description'],
  none: 'no roles',
})

export const showRole = command({
  path: 'role show',
  options: { code: roleSubject },
  summary: 'Show a role with its permissions',
  examples: ['role show support', 'role show support --json', 'role show super_admin'],
  async run({ api }, { code }) {
    const path = { roleCode: parsePlainName(code, 'role') }
    const role = await bodyOf(api.GET('/api/v1/admin/roles/{roleCode}', { params: { path } }))
    const { items } = await bodyOf(api.GET('/api/v1/admin/roles/{roleCode}/permissions', { params: { path } }))
    const rows = rowsOf(items, [['permission', (item) => item.code], 'service'])
    return {
      kind: 'report',
      value: { ...role, permissions: items },
      parts: [{ record: { ...role } }, ...(items.length > 0 ? ['', rows] : [])],
    }
  },
})

export const createRole = command({
  path: 'role create',
  options: {
    code: positional('CODE', 'Code of the new role. It cannot be changed later'),
    name: requiredText('NAME', 'Display name'),
    scope: choiceWithStandard(['global', 'org'], 'Whether users hold it everywhere, or members within an organization', 'global'),
    assignableBy: choice(['system_admin', 'org_admin'], 'Who may assign an org-scoped role. Default: system_admin'),
    description: text('TEXT', 'What the role is for'),
  },
  summary: 'Create a role',
  examples: [
    'role create support --name Support',
    'role create billing --name Billing --scope org --description "Sees the invoices"',
    'role create support --name Support --dry-run',
  ],
  async run({ api }, { description, assignableBy, ...input }) {
    const body = {
      ...input,
      ...(assignableBy === undefined ? {} : { assignable_by: assignableBy }),
      ...(description === undefined ? {} : { description }),
    }
    return record(await bodyOf(api.POST('/api/v1/admin/roles', { body })), 'created')
  },
})

export const deleteRole = deleteCommand({
  path: 'role delete',
  summary: 'Delete a role',
  description: 'Fails if an app uses it or users hold it. Pending invitations stay valid without it.',
  examples: ['role delete support --confirm support', 'role delete support', 'role delete support --dry-run'],
  noun: 'role',
  subject: roleSubject,
  parse: (typed) => parsePlainName(typed, 'role'),
  remove: (api, roleCode) => api.DELETE('/api/v1/admin/roles/{roleCode}', { params: { path: { roleCode } } }),
})

export const permitRole = command({
  path: 'role permit',
  summary: 'Add permissions to a role',
  description: 'Tokens carry them from their next refresh on. Repeating it changes nothing.',
  examples: [
    'role permit support --permission orders:read',
    'role permit support --permission orders:read orders:refund --json',
    'role permit support --permission orders:read --dry-run',
  ],
  options: permissionOptions,
  run: runPermitRole,
})

async function runPermitRole(tools: Tools, input: Input<typeof permissionOptions>): Promise<Result> {
  const { api, path, permissions, held } = await readPermissionsOf(tools, input)
  if (permissions.every((code) => held.includes(code))) return record({ code: path.roleCode, permissions: held }, 'unchanged')
  const body = { permissions }
  const { items } = await bodyOf(api.POST('/api/v1/admin/roles/{roleCode}/permissions', { params: { path }, body }))
  return record({ code: path.roleCode, permissions: items.map(({ code }) => code) }, 'permitted')
}

export const forbidRole = command({
  path: 'role forbid',
  summary: 'Remove permissions from a role',
  description: 'Tokens carry them until their next refresh. Permissions that the role does not have change nothing.',
  examples: [
    'role forbid support --permission orders:refund',
    'role forbid support --permission orders:read orders:refund --json',
    'role forbid support --permission orders:refund --dry-run',
  ],
  options: permissionOptions,
  run: runForbidRole,
})

async function runForbidRole(tools: Tools, input: Input<typeof permissionOptions>): Promise<Result> {
  const { api, path, permissions, held } = await readPermissionsOf(tools, input)
  const gone = permissions.filter((code) => held.includes(code))
  await inTurn(
    gone.map((permission) => () => {
      const params = { path: { ...path, permission } }
      return api.DELETE('/api/v1/admin/roles/{roleCode}/permissions/{permission}', { params })
    }),
  )
  const left = held.filter((code) => !gone.includes(code))
  return record({ code: path.roleCode, permissions: left }, gone.length > 0 ? 'forbidden' : 'unchanged')
}
