import { cell } from '../output/cells.ts'
import { isSame } from './declaration.ts'
import type { Change, FieldChange } from './plan.ts'

const signs = { create: '+', update: '~', prune: '-' } as const

/** Describes changes for people: a line for each, with a line for each field and each added or removed element below it. */
export function describeChanges(changes: readonly Change[]): string[] {
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
