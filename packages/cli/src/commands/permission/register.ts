import { bodyOf } from '../../api/api-client.ts'
import { usageFailure } from '../../command-line/exit-codes.ts'
import { type Input, requiredText, text } from '../../command-line/options.ts'
import type { PermissionFile } from '../../declarations/permission-file.ts'
import { type Result, rowsOf } from '../../output/output.ts'
import { confirmName } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = {
  service: text('SERVICE', 'Whose permissions; taken from the file unless given', { completes: 'services' }),
  file: requiredText('FILE', 'All permissions of the service, JSON or YAML; - is standard input', { short: 'f' }),
  maxPrune: text('N', 'Prune up to so many without asking; more, and nothing is done'),
  revision: text('N', 'Number of the release: a call with a lower one than the newest seen prunes nothing'),
}

export const registerPermissions = command({
  path: 'permission register',
  summary: 'Declare all permissions of a service',
  description:
    'What the service declared before and the file does not hold is pruned: it leaves tokens and lists, and comes back to its roles ' +
    'when it is declared again. When any would be pruned, --confirm with the name of the service is needed, or --max-prune. ' +
    '--dry-run lets the service say what would happen, and who would lose permissions.',
  examples: [
    'permission register --service orders -f permissions.yaml',
    'permission register --service orders -f permissions.yaml --dry-run',
    'permission register --service orders -f - --max-prune 0 --revision 42 --json < permissions.json',
  ],
  options,
  run: runRegisterPermissions,
})

export async function runRegisterPermissions(tools: Tools, input: Input<typeof options>): Promise<Result> {
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
}

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
