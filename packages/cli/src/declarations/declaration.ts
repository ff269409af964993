/** The service's own permissions. Nobody registers them. */
export const builtInService = 'core'
/** Belongs to this program: closed and unlinked, whatever a file says. */
export const builtInApp = 'authctl'
/** An org_admin may assign these roles unless the service is configured otherwise. */
export const builtInOrganizationRoles = ['org_member', 'org_admin']
/** Holds every permission, so that its list cannot be changed. */
export const holderOfAll = 'super_admin'

/** The sections in the order in which one refers to those before it, with what their entries are. */
export const kinds = { services: 'service', roles: 'role', apps: 'app' } as const

export type Section = keyof typeof kinds
export type Kind = (typeof kinds)[Section]

export const sections: readonly Section[] = ['services', 'roles', 'apps']

/** What names an entry in its section. */
export function nameOf(entry: { service: string } | { code: string }): string {
  return 'service' in entry ? entry.service : entry.code
}

/** In the order of code units, which is the same everywhere. */
export function byName<T>(list: readonly T[], name: (entry: T) => string): T[] {
  return [...list].sort((one, other) => (name(one) < name(other) ? -1 : 1))
}

export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
