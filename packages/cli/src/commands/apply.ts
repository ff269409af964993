import { Failure } from '../command-line/exit-codes.ts'
import { flag, requiredText } from '../command-line/options.ts'
import { type Application, applyChanges } from '../declarations/apply-changes.ts'
import { describeChanges } from '../declarations/describe-changes.ts'
import { isPruning, type Plan } from '../declarations/plan.ts'
import { type Result, rowsOf } from '../output/output.ts'
import { confirmName, confirmYes } from '../terminal/prompt.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'

export const applyDeclaration = command({
  path: 'apply',
  options: {
    file: requiredText('FILE', 'Services, roles and apps as export writes them; - is standard input', { short: 'f' }),
    prune: flag('Delete entries that a section of the file does not list; needs --confirm with the name of the context'),
  },
  summary: 'Apply a file of services, roles and apps',
  description:
    'Makes the listed entries match the file; a field that an entry leaves out gets its default. Entries that the file does not ' +
    'list stay unchanged, also permissions of a service, unless --prune deletes them. Repeating it changes nothing. ' +
    'Deactivating an app needs --yes.',
  examples: [
    'apply -f gatehouse.yaml --dry-run',
    'apply -f gatehouse.yaml --json',
    'apply -f gatehouse.yaml --prune --confirm production --context production',
  ],
  async run(tools, { file, prune }) {
    // Loaded late: the schema is slow to load, and other commands do not need it.
    const { prepare } = await import('../declarations/prepare.ts')
    const { plan, organizationIds } = await prepare(tools, { file, prune })
    await agree(tools, plan, prune)
    const application: Application = { rows: [], fatal: undefined }
    const forget = tools.onInterrupt(() => interrupted(application, plan))
    try {
      await applyChanges(plan.changes, { api: tools.planningApi, organizationIds }, application)
    } finally {
      forget()
    }
    return report(tools, plan, application)
  },
})

function interrupted({ rows }: Application, { changes, unchanged }: Plan): Failure {
  const { changed } = countsOf(rows, unchanged)
  const current = changes[rows.length]
  const open = current ? `; it is unknown whether ${namesOf([current])} changed` : ''
  return new Failure('interrupted', `interrupted; ${changed} changed before that${open}`, {
    code: 'interrupted',
    hint: againHint,
  })
}

const againHint = 'run apply again: it continues with what does not match the file yet'

async function agree(tools: Tools, { changes }: Plan, prune: boolean): Promise<void> {
  const pruned = changes.filter(isPruning)
  // Asked even if nothing is pruned: a confirmation that names another context was meant for another service.
  if (prune && (pruned.length > 0 || tools.settings.confirm !== undefined)) {
    const { contextName } = tools.connect()
    await confirmName(tools, contextName, `prune ${namesOf(pruned)}`)
  }
  const closed = changes.filter(
    ({ kind, change, fields }) =>
      kind === 'app' && change === 'update' && fields.some(({ field, after }) => field === 'status' && after === 'inactive'),
  )
  if (closed.length > 0) await confirmYes(tools, `deactivate ${namesOf(closed)}`)
}

const mostNamed = 10

function namesOf(changes: Plan['changes']): string {
  const names = changes.slice(0, mostNamed).map(({ kind, code }) => `the ${kind} ${code}`)
  const more = changes.length - names.length
  return [...names, ...(more > 0 ? [`${more} more`] : [])].join(', ')
}

function report({ io, settings, place }: Tools, { changes, unchanged }: Plan, { rows, fatal }: Application): Result {
  const counts = countsOf(rows, unchanged)
  for (const { kind, code, warnings = [] } of rows) for (const warning of warnings) io.note(`${kind} ${code}: ${warning}`)
  if (settings.dryRun) io.note(`nothing was sent ${place()} (--dry-run)`)
  const ending = settings.dryRun ? { dry_run: true } : { outcome: counts.changed > 0 ? 'applied' : 'unchanged' }
  const table = rowsOf(rows, ['outcome', 'kind', 'code', ['detail', ({ error }) => error?.message]])
  const details = settings.dryRun ? describeChanges(changes) : [table]
  return {
    kind: 'report',
    value: { ...counts, changes: rows, ...ending },
    parts: [...(rows.length > 0 ? [...details, ''] : []), summary(counts)],
    failure: failureOf(counts, fatal),
  }
}

function countsOf(rows: Application['rows'], unchanged: number) {
  const count = (...outcomes: string[]) => rows.filter(({ outcome }) => outcomes.includes(outcome)).length
  const planned = count('planned')
  return {
    changed: count('created', 'updated', 'pruned'),
    unchanged,
    failed: count('failed'),
    not_tried: count('not_tried'),
    ...(planned > 0 ? { planned } : {}),
  }
}

function summary(counts: Record<string, number>): string {
  const told = Object.entries(counts).filter(([name, count]) => count > 0 || name === 'changed')
  return told.map(([name, count]) => `${count} ${name.replace('_', ' ')}`).join(', ')
}

function failureOf({ changed, failed }: { changed: number; failed: number }, fatal: Failure | undefined): Failure | undefined {
  if (fatal) {
    const { ending, code, requestId } = fatal
    return new Failure(ending, `${fatal.message}; ${changed} changed before that`, {
      code,
      requestId,
      hint: [fatal.hint, againHint].filter(Boolean).join('\n'),
      cause: fatal.cause,
    })
  }
  if (failed === 0) return undefined
  return new Failure('failures', `${failed} failed, ${changed} changed`, { code: 'some_failed', hint: againHint })
}
