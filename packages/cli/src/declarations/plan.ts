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
  /**
   * For a new entry, the fields that differ from their defaults; for an existing one, those that change. Empty for a deletion.
   */
  fields: FieldChange[]
}

/** A change with the data that is needed to make it. */
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
  /** Existing entries that their section of the file does not list. `prune` deletes them; otherwise they stay. */
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
