import type { LivePermission } from '../../models/permission.ts'
import { listUndeclared } from './prune-permissions.ts'

/** A permission as a service declares it. */
export type DeclaredPermission = Omit<LivePermission, 'id'>

/** The changes that make the permissions of a service match its declaration. Every list is sorted by code. */
export interface RegistrationPlan {
  created: DeclaredPermission[]
  updated: DeclaredPermission[]
  unchanged: DeclaredPermission[]
  pruned: LivePermission[]
  /** The permissions of the service afterwards. */
  result: DeclaredPermission[]
}

/** Compares the permissions of a service with its declaration. Without `prunes`, permissions that it no longer declares stay. */
export function planRegistration(
  live: readonly LivePermission[],
  declared: readonly DeclaredPermission[],
  { prunes }: { prunes: boolean },
): RegistrationPlan {
  const liveNames = new Map(live.map(({ code, name }) => [code, name]))
  const undeclared = listUndeclared(live, declared)
  const kept = prunes ? [] : undeclared.map(({ id: _, ...permission }) => permission)
  return {
    created: byCode(declared.filter(({ code }) => !liveNames.has(code))),
    updated: byCode(declared.filter(({ code, name }) => liveNames.has(code) && liveNames.get(code) !== name)),
    unchanged: byCode(declared.filter(({ code, name }) => liveNames.get(code) === name)),
    pruned: prunes ? undeclared : [],
    result: byCode([...declared, ...kept]),
  }
}

function byCode<T extends { code: string }>(permissions: readonly T[]): T[] {
  return [...permissions].sort((a, b) => (a.code < b.code ? -1 : 1))
}
