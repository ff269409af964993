import { dirname, resolve } from 'node:path'
import type { Api } from '../api/api-client.ts'
import { Failure, toFailure } from '../command-line/exit-codes.ts'
import { isImageUrl, readLogo } from '../nouns/app-logo.ts'
import { getOrganization } from '../nouns/organization-ref.ts'
import { readSource, sourceName } from '../terminal/read-source.ts'
import { isUuid } from '../text/uuid.ts'
import type { Tools } from '../tools/create-tools.ts'
import { parseDeclaration } from './parse-declaration.ts'
import type { Plan } from './plan.ts'
import { lostPermissions, planChanges } from './plan-changes.ts'
import { type Installation, readInstallation } from './read-installation.ts'
import { rehearse, reportRefusals } from './rehearse.ts'
import type { Declaration, Fault } from './schema.ts'

export interface Prepared {
  plan: Plan
  /** By slug. */
  organizationIds: ReadonlyMap<string, string>
}

/** Reads the logos that the file names by a path, which begins where the file is. */
function readLogos({ apps = [] }: Declaration, file: string, fault: Fault): void {
  for (const [index, app] of apps.entries()) {
    if (app.logo === null || isImageUrl(app.logo)) continue
    try {
      app.logo = readLogo(resolve(file === '-' ? '.' : dirname(file), app.logo))
    } catch (thrown) {
      fault(['apps', index, 'logo'], toFailure(thrown).message)
    }
  }
}

/**
 * Compares a file with the installation and plans the changes. Throws all faults of the file, also those that the service finds.
 * Writes nothing.
 */
export async function prepare(
  { api, rehearsalApi, io }: Pick<Tools, 'api' | 'rehearsalApi' | 'io'>,
  { file, prune }: { file: string; prune: boolean },
): Promise<Prepared> {
  const parsed = await parseDeclaration(await readSource(io, file), sourceName(file))
  const { declaration, check } = parsed
  check((fault) => readLogos(declaration, file, fault))
  const installation = await readInstallation(api)
  const organizationIds = await findOrganizations(api, declaration)
  const planned = planChanges(declaration, installation, { prune })
  const { plan, refusals } = await rehearse(planned, { api: rehearsalApi, organizationIds, installation })
  check((fault) => {
    checkReferences(declaration, { installation, organizationIds, prune }, fault)
    reportRefusals(refusals, parsed, fault)
  })
  const { length } = plan.unlisted
  if (length > 0 && !prune) io.note(`entries that the file does not list stay unchanged (${length}); --prune deletes them`)
  return { plan, organizationIds }
}

/** The ids of the organizations that a declaration names, by slug. Unknown slugs are left out. */
async function findOrganizations(api: Api, { apps = [] }: Declaration): Promise<Map<string, string>> {
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
function checkReferences(
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
