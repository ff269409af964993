import type { Api } from '../api/api-client.ts'
import { Failure } from '../command-line/exit-codes.ts'
import { getOrganization } from '../nouns/organization-ref.ts'
import { isUuid } from '../text/uuid.ts'
import { lostPermissions } from './plan-changes.ts'
import type { Installation } from './read-installation.ts'
import type { Declaration, Fault } from './schema.ts'

/** The ids of the organizations that a declaration names, by slug. Unknown slugs are left out. */
export async function findOrganizations(api: Api, { apps = [] }: Declaration): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const slug of new Set(apps.map(({ default_organization_slug }) => default_organization_slug))) {
    if (slug === null || isUuid(slug)) continue
    try {
      found.set(slug, (await getOrganization(api, slug)).id)
    } catch (error) {
      if (!(error instanceof Failure) || error.ending !== 'notFound') throw error
    }
  }
  return found
}

/** Reports references to something that is neither in the declaration nor in the installation. */
export function checkReferences(
  declaration: Declaration,
  context: { installation: Installation; organizationIds: ReadonlyMap<string, string>; prune: boolean },
  fault: Fault,
): void {
  checkRoles(declaration, context, fault)
  const scopes = new Map([...context.installation.roles, ...(declaration.roles ?? [])].map(({ code, scope }) => [code, scope]))
  const checkRole = (code: string | null, path: (string | number)[]) => {
    if (code !== null && !scopes.has(code)) fault(path, `names an unknown role: ${code}`)
    else if (code !== null && scopes.get(code) !== 'org') fault(path, `must be an org-scoped role, and ${code} is global`)
  }
  declaration.apps?.forEach((app, index) => {
    const path = ['apps', index]
    const slug = app.default_organization_slug
    if (slug !== null && !context.organizationIds.has(slug))
      fault([...path, 'default_organization_slug'], `names an unknown organization: ${slug}`)
    checkRole(app.default_role_code, [...path, 'default_role_code'])
    app.override_role_codes.forEach((code, place) => {
      checkRole(code, [...path, 'override_role_codes', place])
    })
  })
}

function checkRoles(
  declaration: Declaration,
  { installation, prune }: { installation: Installation; prune: boolean },
  fault: Fault,
): void {
  const lost = prune ? lostPermissions(declaration, installation) : new Set<string>()
  const codesOf = ({ services = [] }: Declaration) => services.flatMap(({ permissions }) => permissions).map(({ code }) => code)
  const kept = [...installation.coreCodes, ...codesOf(installation)].filter((code) => !lost.has(code))
  const known = new Set([...kept, ...codesOf(declaration)])
  declaration.roles?.forEach(({ code, scope, permissions }, index) => {
    const path = ['roles', index]
    const current = installation.roles.find((role) => role.code === code)
    if (current && current.scope !== scope) fault([...path, 'scope'], `cannot be changed: ${code} is ${current.scope}`)
    const unknown = permissions.filter((permission) => !known.has(permission))
    if (unknown.length > 0) fault([...path, 'permissions'], `names unknown permissions: ${unknown.join(', ')}`)
  })
}
