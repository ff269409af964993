import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, pages, readAll } from '../api/api-client.ts'
import { fetchLogo } from '../nouns/app-logo.ts'
import { getOrganization } from '../nouns/organization-ref.ts'
import { builtInService, byName, holderOfAll } from './declaration.ts'
import type { Declaration, DeclaredApp, DeclaredService } from './schema.ts'

type App = components['schemas']['App']
type Permission = components['schemas']['Permission']

/** The content of an installation, without the built-in app and service. */
export interface Installation extends Required<Declaration> {
  /** Built-in roles, which can be neither created nor deleted. */
  builtInRoles: ReadonlySet<string>
  /** Permissions that exist from the first start. */
  coreCodes: readonly string[]
  /** The webhooks that have a secret, by the code of their app. */
  secretWebhooks: ReadonlyMap<string, readonly { name: string; url: string }[]>
}

export async function readInstallation(api: Api): Promise<Installation> {
  const roles = await readAll(pages((query) => bodyOf(api.GET('/api/v1/admin/roles', { params: { query } }))))
  const permissions = await readAll(pages((query) => bodyOf(api.GET('/api/v1/admin/permissions', { params: { query } }))))
  const apps = (await readAll(pages((query) => bodyOf(api.GET('/api/v1/admin/apps', { params: { query } }))))).filter(
    ({ built_in }) => !built_in,
  )
  return {
    services: declareServices(permissions.filter(({ service }) => service !== builtInService)),
    roles: await inSequence(
      byName(roles, ({ code }) => code),
      async ({ code, name, scope, assignable_by, description }) => {
        return { code, name, scope, assignable_by, description, permissions: await readRolePermissions(api, code) }
      },
    ),
    apps: await declareApps(api, apps),
    coreCodes: permissions.filter(({ service }) => service === builtInService).map(({ code }) => code),
    builtInRoles: new Set(roles.filter(({ built_in }) => built_in).map(({ code }) => code)),
    secretWebhooks: new Map(apps.map(({ code, webhooks }) => [code, webhooks.filter(({ has_secret }) => has_secret)])),
  }
}

function declareServices(permissions: readonly Permission[]): DeclaredService[] {
  const services = new Map<string, DeclaredService>()
  for (const { service, code, name } of byName(permissions, ({ code }) => code)) {
    const declared = services.get(service) ?? { service, permissions: [] }
    declared.permissions.push({ code, name })
    services.set(service, declared)
  }
  return byName([...services.values()], ({ service }) => service)
}

async function readRolePermissions(api: Api, roleCode: string): Promise<string[]> {
  if (roleCode === holderOfAll) return []
  const { items } = await bodyOf(api.GET('/api/v1/admin/roles/{roleCode}/permissions', { params: { path: { roleCode } } }))
  return byName(
    items.map(({ code }) => code),
    (code) => code,
  )
}

async function declareApps(api: Api, apps: App[]): Promise<DeclaredApp[]> {
  const slugs = new Map<string, string>()
  const slugOf = async (id: string) => {
    const slug = slugs.get(id) ?? (await getOrganization(api, id)).slug
    slugs.set(id, slug)
    return slug
  }
  return inSequence(
    byName(apps, ({ code }) => code),
    async (app) => declareApp(api, app, app.default_organization_id === null ? null : await slugOf(app.default_organization_id)),
  )
}

async function declareApp(api: Api, app: App, default_organization_slug: string | null): Promise<DeclaredApp> {
  const { id: _, built_in, created_at, updated_at, default_organization_id, webhooks, signing, logo_path, ...settings } = app
  return {
    ...settings,
    default_organization_slug,
    logo: logo_path === null ? null : await fetchLogo(api, app.code),
    webhooks: webhooks.map(({ name, url, events, enabled }) => ({ name, url, events, enabled, secret: undefined })),
  }
}

async function inSequence<T, U>(items: readonly T[], read: (item: T) => Promise<U>): Promise<U[]> {
  const results: U[] = []
  for (const item of items) results.push(await read(item))
  return results
}
