import { Failure } from '../command-line/exit-codes.ts'
import { flag, type Input, requiredText, text } from '../command-line/options.ts'
import { type Application, applyChanges } from '../declarations/apply-changes.ts'
import { isSame } from '../declarations/declaration.ts'
import { type Change, type FieldChange, isPruning, type Plan } from '../declarations/plan.ts'
import { readInstallation } from '../declarations/read-installation.ts'
import { cell } from '../output/cells.ts'
import { type Result, rowsOf } from '../output/render.ts'
import { confirmName, confirmYes } from '../terminal/prompt.ts'
import { readIfThere, writeFile } from '../terminal/write-file.ts'
import { counted } from '../text/counted.ts'
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

const diffOptions = {
  file: requiredText('FILE', 'Services, roles and apps as export writes them; - is standard input', { short: 'f' }),
  prune: flag('Also show what apply --prune would delete'),
  exitCode: flag('Exit with 10 if there are differences'),
}

export const diffDeclaration = command({
  path: 'diff',
  summary: 'Show what applying a file would change',
  description: 'Entries that the file does not list are left out, unless --prune is given.',
  examples: ['diff -f gatehouse.yaml', 'diff -f gatehouse.yaml --exit-code', 'diff -f - --prune --json < gatehouse.yaml'],
  options: diffOptions,
  run: runDiff,
})

async function runDiff(tools: Tools, { file, prune, exitCode }: Input<typeof diffOptions>): Promise<Result> {
  // Loaded late: the schema is slow to load, and other commands do not need it.
  const { prepare } = await import('../declarations/prepare.ts')
  const { plan } = await prepare(tools, { file, prune })
  const differences = plan.changes.map(({ change, kind, code, fields }) => ({ change, kind, code, fields }))
  const count = differences.length
  if (count === 0) tools.io.note('no differences')
  const failure =
    exitCode && count > 0
      ? new Failure('differences', count === 1 ? 'there is a difference' : `there are ${count} differences`, {
          code: 'differences',
          hint: `authctl apply -f ${file} makes these changes`,
        })
      : undefined
  return {
    kind: 'report',
    value: { differences, unchanged: plan.unchanged, unlisted: plan.unlisted },
    parts: describeChanges(differences),
    failure,
  }
}

const exportOptions = { file: text('FILE', 'YAML file to write; an existing file is replaced', { short: 'f' }) }

export const exportDeclaration = command({
  path: 'export',
  summary: 'Write services, roles and apps as YAML',
  description:
    'Leaves out default values, the secrets of webhooks, the app authctl and the service core. ' +
    'Two exports of the same state are identical, byte for byte.',
  examples: ['export -f gatehouse.yaml', 'export --context staging > staging.yaml', 'export --json'],
  options: exportOptions,
  formats: { all: ['yaml', 'json'], terminal: 'yaml', pipe: 'yaml' },
  run: runExport,
})

async function runExport({ api, io, settings }: Tools, { file }: Input<typeof exportOptions>): Promise<Result> {
  // Loaded late: the schema is slow to load, and other commands do not need it.
  const { plainDeclaration, renderDeclaration } = await import('../declarations/render-declaration.ts')
  const { services, roles, apps } = await readInstallation(api)
  const declaration = { services, roles, apps }
  const plain = plainDeclaration(declaration)
  const yaml = await renderDeclaration(declaration)
  if (file === undefined) return { kind: 'body', body: settings.format === 'json' ? plain : yaml }
  const counts = { services: services.length, roles: roles.length, apps: apps.length }
  const outcome = settings.dryRun ? 'not written (--dry-run)' : writeIfNew(file, yaml)
  const parts = [counted(counts.services, 'service'), counted(counts.roles, 'role'), counted(counts.apps, 'app')]
  io.note(`${file}: ${parts.join(', ')}; ${outcome}`)
  return { kind: 'body', body: settings.format === 'json' ? { file, ...counts, outcome } : undefined }
}

function writeIfNew(file: string, content: string): 'written' | 'unchanged' {
  if (readIfThere(file) === content) return 'unchanged'
  writeFile(file, content)
  return 'written'
}

const signs = { create: '+', update: '~', prune: '-' } as const

/** Describes changes for people: a line for each, with a line for each field and each added or removed element below it. */
function describeChanges(changes: readonly Change[]): string[] {
  return changes.flatMap(({ change, kind, code, fields }) => {
    const width = Math.max(...fields.map(({ field }) => field.length), 0)
    const lines = fields.flatMap((field) =>
      describeField(field, change).map((line, index) => `    ${(index === 0 ? field.field : '').padEnd(width)}  ${line}`),
    )
    return [`${signs[change]} ${kind} ${code}`, ...lines]
  })
}

function describeField({ before, after }: FieldChange, change: Change['change']): string[] {
  if (Array.isArray(after)) return describeList(Array.isArray(before) ? before : [], after)
  return change === 'create' ? [cell(after)] : [`${cell(before)} → ${cell(after)}`]
}

function describeList(before: unknown[], after: unknown[]): string[] {
  const gone = before.filter((old) => !after.some((fresh) => isSame(old, fresh)))
  const fresh = after.filter((entry) => !before.some((old) => isSame(old, entry)))
  if (gone.length + fresh.length === 0) return [`in another order: ${after.map(entryText).join(', ')}`]
  return [...gone.map((entry) => `- ${entryText(entry)}`), ...fresh.map((entry) => `+ ${entryText(entry)}`)]
}

function entryText(entry: unknown): string {
  if (typeof entry !== 'object' || entry === null) return cell(entry)
  // A permission, or a webhook.
  return 'code' in entry && 'name' in entry ? `${cell(entry.code)}  ${cell(entry.name)}` : cell(entry)
}
