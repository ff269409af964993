import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, pages, readAll } from '../api/api-client.ts'
import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import { flag, requiredText, text } from '../command-line/options.ts'
import type { PermissionFile } from '../declarations/permission-file.ts'
import { type Result, record, rowsOf } from '../output/render.ts'
import { confirmName } from '../terminal/prompt.ts'
import { readIfThere, writeFile } from '../terminal/write-file.ts'
import { toJson } from '../text/escape-controls.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'
import { listCommand } from '../tools/list-command.ts'

export const registerPermissions = command({
  path: 'permission register',
  options: {
    service: text('SERVICE', 'Service that owns the permissions. Default: the one in the file', { completes: 'services' }),
    file: requiredText('FILE', 'All permissions of the service, JSON or YAML; - is standard input', { short: 'f' }),
    maxPrune: text('N', 'Prune up to N permissions without asking; if there are more, change nothing'),
    revision: text('N', 'Number of the release. A lower number than the newest one seen prunes nothing'),
  },
  summary: 'Declare all permissions of a service',
  description:
    'Permissions that the service declared before and that are not in the file are pruned: they disappear from tokens and lists, and ' +
    'return to their roles when they are declared again. Pruning needs --confirm with the name of the service, or --max-prune. ' +
    '--dry-run shows what would happen, and who would lose permissions.',
  examples: [
    'permission register --service orders -f permissions.yaml',
    'permission register --service orders -f permissions.yaml --dry-run',
    'permission register --service orders -f - --max-prune 0 --revision 42 --json < permissions.json',
  ],
  async run(tools, input) {
    const maxPrune = parseNumber('--max-prune', input.maxPrune)
    const revision = parseNumber('--revision', input.revision)
    // Loaded late: the schema is slow to load, and other commands do not need it.
    const { readPermissionFile } = await import('../declarations/permission-file.ts')
    const declared = await readPermissionFile(tools, input)
    const body = { ...declared, ...(revision === undefined ? {} : { revision }) }
    if (tools.settings.dryRun) {
      const limit = maxPrune === undefined ? {} : { max_prune: maxPrune }
      const plan = await rehearse(tools, { ...body, ...limit })
      tools.io.note(`nothing was written ${tools.place()} (--dry-run)`)
      return report(plan, { dry_run: true })
    }
    const agreed = maxPrune ?? (await agreeToPrune(tools, body))
    const answer = await bodyOf(tools.api.POST('/api/v1/admin/permissions/register', { body: { ...body, max_prune: agreed } }))
    const { created, updated, pruned } = answer
    return report(answer, { outcome: created + updated + pruned > 0 ? 'registered' : 'unchanged' })
  },
})

type Body = Parameters<typeof rehearse>[1]

/** Asks for confirmation if permissions would be pruned. Returns how many may be. */
async function agreeToPrune(tools: Tools, body: Body): Promise<number> {
  const { pruned } = await rehearse(tools, body)
  const what = pruned === 1 ? 'a permission' : `${pruned} permissions`
  if (pruned > 0) await confirmName(tools, body.service, `prune ${what} of ${body.service}`)
  return pruned
}

async function rehearse({ rehearsalApi }: Tools, body: Required<PermissionFile> & { revision?: number; max_prune?: number }) {
  const params = { query: { dry_run: true } }
  return bodyOf(rehearsalApi.POST('/api/v1/admin/permissions/register', { params, body }))
}

function report({ permissions, roles, ...counts }: Awaited<ReturnType<typeof rehearse>>, more: object): Result {
  const losers = rowsOf(roles ?? [], [
    ['role', ({ code }) => code],
    ['would_lose', (role) => role.permissions],
    ['users', ({ user_count }) => user_count],
  ])
  return {
    kind: 'report',
    value: { ...counts, permissions, ...(roles ? { roles } : {}), ...more },
    parts: [{ record: { ...counts, ...more } }, ...(roles?.length ? ['', losers] : [])],
  }
}

/** A whole number from 0. */
function parseNumber(flag: string, typed: string | undefined): number | undefined {
  if (typed === undefined) return undefined
  if (!/^\d{1,15}$/.test(typed)) throw usageFailure(`${flag} must be a whole number from 0`)
  return Number(typed)
}

export const listPermissions = listCommand({
  path: 'permission list',
  summary: 'List permissions, newest first',
  examples: ['permission list', 'permission list --service orders', 'permission list --service orders --json'],
  filters: { service: text('SERVICE', 'Only permissions of this service', { completes: 'services' }) },
  read: (api, filters, page) => api.GET('/api/v1/admin/permissions', { params: { query: { ...filters, ...page } } }),
  columns: ['code', 'name', 'service'],
  none: 'no permissions',
})

export const diffPermissions = command({
  path: 'permission diff',
  options: {
    service: text('SERVICE', 'Service that owns the permissions. Default: the one in the file', { completes: 'services' }),
    file: requiredText('FILE', 'All permissions of the service, JSON or YAML; - is standard input', { short: 'f' }),
    exitCode: flag('Exit with 10 if there are differences'),
  },
  summary: 'Show what registering a permission file would change',
  examples: [
    'permission diff --service orders -f permissions.yaml',
    'permission diff --service orders -f permissions.yaml --exit-code',
    'permission diff --service orders -f - --json < permissions.json',
  ],
  async run(tools, { exitCode, ...input }) {
    // Loaded late: the schema is slow to load, and other commands do not need it.
    const { readPermissionFile } = await import('../declarations/permission-file.ts')
    const { service, permissions } = await readPermissionFile(tools, input)
    const before = new Map((await readPermissions(tools.api, service)).map(({ code, name }) => [code, name]))
    const after = new Map(permissions.map(({ code, name }) => [code, name]))
    const differences = [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((code): Difference[] => {
      const [old = null, fresh = null] = [before.get(code), after.get(code)]
      if (old === fresh) return []
      return [{ change: old === null ? 'create' : fresh === null ? 'prune' : 'update', code, before: old, after: fresh }]
    })
    const count = differences.length
    if (count === 0) tools.io.note('no differences')
    const failure =
      exitCode && count > 0
        ? new Failure('differences', count === 1 ? 'there is a difference' : `there are ${count} differences`, {
            code: 'differences',
            hint: 'authctl permission register makes these changes',
          })
        : undefined
    return {
      kind: 'report',
      value: { service, differences },
      parts: count === 0 ? [] : [rowsOf(differences, ['change', 'code', 'before', 'after'])],
      failure,
    }
  },
})

interface Difference {
  change: 'create' | 'update' | 'prune'
  code: string
  /** The name of the permission; null if it does not exist. */
  before: string | null
  after: string | null
}

export const generatePermissions = command({
  path: 'permission codegen',
  options: {
    service: requiredText('SERVICE', 'Service that owns the permissions', { completes: 'services' }),
    out: requiredText('FILE', 'TypeScript file to write; an existing file is replaced'),
  },
  summary: 'Write the permissions of a service as a TypeScript module',
  description:
    'The module calls definePermissions of @gatehouse/sdk and exports a type of the names, so that a misspelt one does not compile.',
  examples: [
    'permission codegen --service orders --out src/permissions.ts',
    'permission codegen --service orders --out src/permissions.ts --json',
    'permission codegen --service orders --out src/permissions.ts --dry-run',
  ],
  async run(tools, { service, out }) {
    const { api, settings, io } = tools
    if (!/\.[cm]?ts$/.test(out)) throw usageFailure(`--out ${out} is not a TypeScript file`, 'such as src/permissions.ts')
    const permissions = await readPermissions(api, service)
    if (permissions.length === 0) {
      throw new Failure('notFound', `the service ${service} has no permissions`, {
        code: 'no_permissions',
        hint: 'authctl permission register declares them',
      })
    }
    const source = renderModule(service, permissions)
    const answer = { service, out, permissions: permissions.length }
    if (readIfThere(out) === source) return record(answer, 'unchanged')
    if (settings.dryRun) {
      io.note('nothing was written (--dry-run)')
      return record({ ...answer, dry_run: true })
    }
    writeFile(out, source)
    return record(answer, 'written')
  },
})

/** Renders the module. Names are written as JSON strings, so that no name can end its string or hide characters. */
function renderModule(service: string, permissions: readonly { code: string; name: string }[]): string {
  return [
    `// Generated by \`authctl permission codegen --service ${service}\`. Do not edit.`,
    "import { definePermissions, type PermissionName } from '@gatehouse/sdk'",
    '',
    `export const permissions = definePermissions(${toJson(service)}, {`,
    ...permissions.map(({ code, name }) => `  ${toJson(code)}: ${toJson(name)},`),
    '})',
    '',
    'export type Permission = PermissionName<typeof permissions>',
    '',
  ].join('\n')
}

type Permission = components['schemas']['Permission']

/** All permissions of a service, sorted by code. */
async function readPermissions(api: Api, service: string): Promise<Permission[]> {
  const all = await readAll(
    pages((page) => bodyOf(api.GET('/api/v1/admin/permissions', { params: { query: { service, ...page } } }))),
  )
  return all.sort((one, other) => (one.code < other.code ? -1 : 1))
}
