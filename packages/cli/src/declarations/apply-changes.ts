import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, inTurn, PlannedRequest, type Request } from '../api/api-client.ts'
import { type Failure, toFailure } from '../command-line/exit-codes.ts'
import { writeLogo } from '../nouns/app-logo.ts'
import { redact, redactUrl } from '../text/redact.ts'
import { partsOf } from './parts-of.ts'
import { type Change, codesGone, type PlannedApp, type PlannedChange, type PlannedRole, type PlannedService } from './plan.ts'
import type { DeclaredRole, DeclaredService } from './schema.ts'

/** The outcome of a change. */
export interface Applied extends Pick<Change, 'change' | 'kind' | 'code'> {
  outcome: 'created' | 'updated' | 'pruned' | 'planned' | 'failed' | 'not_tried'
  error?: { code: string; message: string }
  /** Warnings about a change that was made. */
  warnings?: string[]
  /** Set with --dry-run. */
  requests?: { method: string; url: string; body: unknown }[]
}

export interface Application {
  rows: Applied[]
  /** A failure that would stop every further change too. */
  fatal: Failure | undefined
}

interface Writing {
  api: Api
  organizationIds: ReadonlyMap<string, string>
}

const outcomes = { create: 'created', update: 'updated', prune: 'pruned' } as const

/**
 * Makes the changes one after the other, and adds the outcome of each to `application` at once. A change that fails does not stop
 * those after it, unless they would fail in the same way.
 */
export async function applyChanges(changes: readonly PlannedChange[], writing: Writing, application: Application): Promise<void> {
  const released = await releaseCodes(changes, writing.api)
  for (const planned of changes) {
    const { change, kind, code } = planned
    const row = { change, kind, code }
    if (application.fatal) {
      application.rows.push({ ...row, outcome: 'not_tried' })
      continue
    }
    try {
      const warnings = await writeChange(planned, writing)
      application.rows.push({ ...row, outcome: outcomes[change], ...(warnings.length > 0 ? { warnings } : {}) })
    } catch (thrown) {
      if (thrown instanceof PlannedRequest) {
        const requests = [...((kind === 'service' && released.get(code)) || []), ...thrown.requests]
        application.rows.push({ ...row, outcome: 'planned', requests: requests.map(told) })
        continue
      }
      const failure = toFailure(thrown)
      if (['bug', 'notSignedIn', 'unreachable', 'interrupted'].includes(failure.ending)) application.fatal = failure
      application.rows.push({ ...row, outcome: 'failed', error: { code: failure.code, message: failure.message } })
    }
  }
}

function told({ method, url, body }: Request) {
  return { method, url: redactUrl(url), body: body === undefined ? null : redact(body) }
}

/**
 * Removes permission codes from services that lose them to another one, so that two services can swap codes. The rest of their
 * lists is written later, and a failure shows up again then. With --dry-run, returns the requests that would be sent, by service.
 */
async function releaseCodes(changes: readonly PlannedChange[], api: Api): Promise<Map<string, readonly Request[]>> {
  const services = changes.filter((change): change is PlannedService => change.kind === 'service')
  const taken = new Set(services.flatMap(({ before, after }) => codesGone(after, before)))
  const planned = new Map<string, readonly Request[]>()
  for (const { code: service, before, after } of services) {
    const gone = new Set(codesGone(before, after))
    if (![...gone].some((code) => taken.has(code))) continue
    const kept = (before?.permissions ?? []).filter(({ code }) => !gone.has(code))
    try {
      await registerPermissions(api, { service, permissions: kept }, gone.size)
    } catch (thrown) {
      if (thrown instanceof PlannedRequest) planned.set(service, thrown.requests)
    }
  }
  return planned
}

/** Makes a change. Returns the warnings of the service. */
export function writeChange(planned: PlannedChange, writing: Writing): Promise<string[]> {
  switch (planned.kind) {
    case 'service':
      return writeService(planned, writing)
    case 'role':
      return writeRole(planned, writing)
    case 'app':
      return writeApp(planned, writing)
  }
}

async function writeService({ code: service, before, after }: PlannedService, { api }: Writing): Promise<string[]> {
  await registerPermissions(api, after ?? { service, permissions: [] }, codesGone(before, after).length)
  return []
}

/** With more than `mostPruned` codes to prune, the service refuses. That protects codes registered since the plan was made. */
async function registerPermissions(api: Api, { service, permissions }: DeclaredService, mostPruned: number): Promise<void> {
  const list = permissions.map(({ code, name }) => ({ code, name, ...partsOf(code) }))
  await api.POST('/api/v1/admin/permissions/register', { body: { service, permissions: list, max_prune: mostPruned } })
}

async function writeRole({ change, code, before, after, fields }: PlannedRole, { api }: Writing): Promise<string[]> {
  const path = { roleCode: code }
  if (!after) {
    await api.DELETE('/api/v1/admin/roles/{roleCode}', { params: { path } })
    return []
  }
  const { permissions, ...declared } = after
  const role = declared as components['schemas']['CreateRole']
  const changed = fields.map(({ field }) => field)
  const { name, description, assignable_by } = role
  const writes: (() => Promise<unknown>)[] = []
  if (change === 'create') writes.push(() => api.POST('/api/v1/admin/roles', { body: role }))
  else if (changed.some((field) => field !== 'permissions'))
    writes.push(() =>
      api.PATCH('/api/v1/admin/roles/{roleCode}', { params: { path }, body: { name, description, assignable_by } }),
    )
  if (changed.includes('permissions')) writes.push(() => writePermissions(api, code, before, permissions))
  await inTurn(writes)
  return []
}

/** An addition keeps the role's permissions that are pruned at the moment, as during a deployment. A removal is final. */
async function writePermissions(api: Api, roleCode: string, before: DeclaredRole | undefined, wanted: string[]): Promise<void> {
  const held = before?.permissions ?? []
  const addsOnly = held.every((code) => wanted.includes(code))
  const params = { path: { roleCode } }
  const path = '/api/v1/admin/roles/{roleCode}/permissions'
  if (addsOnly) {
    const added = wanted.filter((code) => !held.includes(code))
    await api.POST(path, { params, body: { permissions: added } })
  } else await api.PUT(path, { params, body: { permissions: wanted } })
}

async function writeApp({ change, code, after: app, fields }: PlannedApp, { api, organizationIds }: Writing): Promise<string[]> {
  const path = { appId: code }
  if (!app) {
    await api.DELETE('/api/v1/admin/apps/{appId}', { params: { path } })
    return []
  }
  const changed = new Set(fields.map(({ field }) => field))
  const { default_organization_slug: slug, logo, ...settings } = app
  const body: components['schemas']['UpdateApp'] = Object.fromEntries(
    Object.entries(settings).filter(([field]) => changed.has(field)),
  )
  if (changed.has('default_organization_slug')) body.default_organization_id = slug === null ? null : organizationIds.get(slug)
  let warnings: NonNullable<components['schemas']['UpdatedApp']['warnings']> = []
  const writes: (() => Promise<unknown>)[] = []
  if (change === 'create')
    writes.push(async () => {
      ;({ warnings = [] } = await bodyOf(api.POST('/api/v1/admin/apps', { body: { ...body, code, name: app.name } })))
    })
  else if (Object.keys(body).length > 0)
    writes.push(async () => {
      ;({ warnings = [] } = await bodyOf(api.PATCH('/api/v1/admin/apps/{appId}', { params: { path }, body })))
    })
  if (changed.has('logo')) writes.push(() => writeLogo(api, code, logo))
  await inTurn(writes)
  return warnings.map(describeWarning)
}

function describeWarning(warning: NonNullable<components['schemas']['UpdatedApp']['warnings']>[number]): string {
  return 'message' in warning ? warning.message : `its tokens have about ${warning.projected_token_bytes} bytes`
}
