/** The service of the built-in permissions. Clients cannot register them. */
export const builtInService = 'core'
/** An org_admin may assign these roles unless the service is configured otherwise. */
export const builtInOrganizationRoles = ['org_member', 'org_admin']
/** This role holds every permission, so its list cannot be changed. */
export const holderOfAll = 'super_admin'

/** The sections, with the kind of their entries. A section refers only to those before it. */
export const kinds = { services: 'service', roles: 'role', apps: 'app' } as const

export type Section = keyof typeof kinds
export type Kind = (typeof kinds)[Section]

export const sections: readonly Section[] = ['services', 'roles', 'apps']

/** The name of an entry, unique in its section. */
export function nameOf(entry: { service: string } | { code: string }): string {
  return 'service' in entry ? entry.service : entry.code
}

/** Sorts by code units, which gives the same order on every machine. */
export function byName<T>(list: readonly T[], name: (entry: T) => string): T[] {
  return [...list].sort((one, other) => (name(one) < name(other) ? -1 : 1))
}

export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
