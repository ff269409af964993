import type { Kind } from './declaration.ts'
import type { DeclaredApp, DeclaredRole, DeclaredService, Entry } from './schema.ts'

export interface FieldChange {
  field: string
  before: unknown
  after: unknown
}

export interface Change {
  change: 'create' | 'update' | 'prune'
  kind: Kind
  code: string
  /** What a new entry has beyond the standard, or what becomes otherwise in one that is there; none of what goes. */
  fields: FieldChange[]
}

/** A change with everything that it takes to make it. */
export interface PlannedOf<K extends Kind, E extends Entry> extends Change {
  kind: K
  before: E | undefined
  after: E | undefined
}

export type PlannedService = PlannedOf<'service', DeclaredService>
export type PlannedRole = PlannedOf<'role', DeclaredRole>
export type PlannedApp = PlannedOf<'app', DeclaredApp>
export type PlannedChange = PlannedService | PlannedRole | PlannedApp

export interface Plan {
  /** In an order in which they can be made. */
  changes: PlannedChange[]
  /** How many entries already are as the file says. */
  unchanged: number
  /** What is there and not in a section of the file. Goes with `prune`, stays without. */
  unlisted: { kind: Kind; code: string }[]
}

/** Codes that a service loses. */
export function codesGone(before: Entry | undefined, after: Entry | undefined): string[] {
  const codes = (entry: Entry | undefined) => (entry && 'service' in entry ? entry.permissions.map(({ code }) => code) : [])
  const kept = new Set(codes(after))
  return codes(before).filter((code) => !kept.has(code))
}

/** Whether the change deletes an entry or permissions of a service. */
export function isPruning({ change, before, after }: PlannedChange): boolean {
  return change === 'prune' || codesGone(before, after).length > 0
}
