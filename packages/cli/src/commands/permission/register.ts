import { bodyOf } from '../../api/api-client.ts'
import { usageFailure } from '../../command-line/exit-codes.ts'
import { requiredText, text } from '../../command-line/options.ts'
import type { PermissionFile } from '../../declarations/permission-file.ts'
import { type Result, rowsOf } from '../../output/output.ts'
import { confirmName } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

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
    const { readPermissionFile } = await import('../../declarations/permission-file.ts')
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
