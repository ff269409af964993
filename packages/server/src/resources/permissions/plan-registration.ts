import type { LivePermission } from '../../models/permission.ts'

/** A permission as a service declares it. */
export type DeclaredPermission = Omit<LivePermission, 'id'>

/** What makes the permissions of a service those that it declares. Every list is sorted by code. */
export interface RegistrationPlan {
  created: DeclaredPermission[]
  updated: DeclaredPermission[]
  unchanged: DeclaredPermission[]
  pruned: LivePermission[]
  /** What the service has afterwards. */
  result: DeclaredPermission[]
}

/** Compares what a service has with what it declares. Without `prunes`, what it no longer declares stays. */
export function planRegistration(
  live: readonly LivePermission[],
  declared: readonly DeclaredPermission[],
  { prunes }: { prunes: boolean },
): RegistrationPlan {
  const liveNames = new Map(live.map(({ code, name }) => [code, name]))
  const declaredCodes = new Set(declared.map(({ code }) => code))
  const undeclared = live.filter(({ code }) => !declaredCodes.has(code))
  const kept = prunes ? [] : undeclared.map(({ id: _, ...permission }) => permission)
  return {
    created: byCode(declared.filter(({ code }) => !liveNames.has(code))),
    updated: byCode(declared.filter(({ code, name }) => liveNames.has(code) && liveNames.get(code) !== name)),
    unchanged: byCode(declared.filter(({ code, name }) => liveNames.get(code) === name)),
    pruned: prunes ? byCode(undeclared) : [],
    result: byCode([...declared, ...kept]),
  }
}

function byCode<T extends { code: string }>(permissions: readonly T[]): T[] {
  return [...permissions].sort((a, b) => (a.code < b.code ? -1 : 1))
}
