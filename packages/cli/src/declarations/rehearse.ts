import type { Api } from '../api/api-client.ts'
import { type Failure, toFailure } from '../command-line/exit-codes.ts'
import { writeChange } from './apply-changes.ts'
import { type Kind, kinds, nameOf, sections } from './declaration.ts'
import { isObject } from './fields.ts'
import type { Parsed } from './parse-declaration.ts'
import type { Plan, PlannedApp, PlannedChange, PlannedRole } from './plan.ts'
import { settledChange } from './plan-changes.ts'
import type { Installation } from './read-installation.ts'
import type { Fault } from './schema.ts'

/**
 * Refusals without a field that no other change and no retry would lift. The last three are of this entry, for a caller who may
 * write others.
 */
const ofEntry = ['system_admin_required', 'scope_required', 'service_mismatch']
const final = ['app_code_taken', 'built_in', ...ofEntry]

interface Rehearsing {
  /** Sends each request as it is told, even with --dry-run. */
  api: Api
  organizationIds: ReadonlyMap<string, string>
  installation: Installation
}

interface Rehearsal {
  /** The plan without the changes that the service takes for none, because it writes a value in one way only. */
  plan: Plan
  refusals: { change: PlannedChange; failure: Failure }[]
}

/**
 * Lets the service judge each entry to be written: it makes the change and rolls it back. Since it does so for each alone, a
 * reference to another entry of the file is left out. Conflicts are left to `apply`, which may have resolved them by then.
 */
export async function rehearse(plan: Plan, { api, organizationIds, installation }: Rehearsing): Promise<Rehearsal> {
  const changes: PlannedChange[] = []
  const refusals: Rehearsal['refusals'] = []
  for (const change of plan.changes) {
    if (change.change === 'prune') {
      changes.push(change)
      continue
    }
    let answer: unknown
    const asking = dryRunning(api, (data) => {
      answer ??= data
    })
    const alone = withoutReferences(change, installation, organizationIds)
    try {
      await writeChange(alone, { api: asking, organizationIds })
    } catch (thrown) {
      const failure = toFailure(thrown)
      const isOfEntry = ofEntry.includes(failure.code)
      if (!isOfEntry && ['bug', 'notSignedIn', 'unreachable', 'interrupted'].includes(failure.ending)) throw failure
      if (failure.ending === 'invalid' || final.includes(failure.code)) refusals.push({ change, failure })
    }
    const settled = isObject(answer) ? settledChange(change, alone, answer, installation) : change
    if (settled) changes.push(settled)
  }
  return { plan: { ...plan, changes, unchanged: plan.unchanged + plan.changes.length - changes.length }, refusals }
}

function dryRunning(api: Api, onAnswer: (data: unknown) => void): Api {
  type Call = (path: string, init?: { params?: { query?: object } }) => Promise<{ data?: unknown }>
  const calls = Object.entries<Call>(api as unknown as Record<string, Call>).map(([method, call]) => {
    const asking: Call = async (path, init = {}) => {
      const answer = await call(path, { ...init, params: { ...init.params, query: { ...init.params?.query, dry_run: true } } })
      onAnswer(answer.data)
      return answer
    }
    return [method, asking]
  })
  return Object.fromEntries(calls)
}

function withoutReferences(
  change: PlannedChange,
  installation: Installation,
  organizationIds: Rehearsing['organizationIds'],
): PlannedChange {
  if (change.kind === 'role') return roleAlone(change, installation)
  return change.kind === 'app' ? appAlone(change, installation, organizationIds) : change
}

/** A role that does not exist yet takes no permissions, and a permission has to exist. */
function roleAlone(change: PlannedRole, { services, coreCodes }: Installation): PlannedRole {
  const known = new Set([...coreCodes, ...services.flatMap(({ permissions }) => permissions.map(({ code }) => code))])
  const isJudged = change.change === 'update' && change.after?.permissions.every((code) => known.has(code))
  return isJudged ? change : { ...change, fields: change.fields.filter(({ field }) => field !== 'permissions') }
}

/** A role of an app has to exist, and so has the organization that its default role is for. */
function appAlone(change: PlannedApp, { roles }: Installation, organizationIds: Rehearsing['organizationIds']): PlannedApp {
  const { after, fields } = change
  if (!after) return change
  const known = new Set<string | null>(roles.map(({ code }) => code))
  const { default_role_code: role, default_organization_slug: slug } = after
  const isRoleJudged = known.has(role) && (slug === null || organizationIds.has(slug))
  return {
    ...change,
    after: { ...after, override_role_codes: after.override_role_codes.filter((code) => known.has(code)) },
    // The logo of an app that does not exist yet has no place to go.
    fields: fields.filter(
      ({ field }) => (field !== 'default_role_code' || isRoleJudged) && (field !== 'logo' || change.change === 'update'),
    ),
  }
}

/** Reports what the service refused, at the place in the file that it is about. */
export function reportRefusals(refusals: Rehearsal['refusals'], { declaration, content }: Parsed, fault: Fault): void {
  for (const { change, failure } of refusals) {
    const section = sections.find((section) => kinds[section] === change.kind)!
    const entries: readonly ({ service: string } | { code: string })[] = declaration[section] ?? []
    const entry = [section, entries.findIndex((one) => nameOf(one) === change.code)]
    if (failure.errors.length === 0) fault(entry, failure.message)
    const told = new Set<string>()
    for (const { path, message } of failure.errors) {
      const place = placeOf(path, change, valueAt(content, entry))
      // The resource and the action follow from the code, which has been refused already.
      if (!told.has(place.join('.'))) fault([...entry, ...place], message)
      told.add(place.join('.'))
    }
  }
}

/** Where the file has what the service names by the path of a request, such as `permissions.0.code`. */
function placeOf(path: string, { kind, after }: PlannedChange, entry: unknown): (string | number)[] {
  const [member = '', index, ...rest] = path.split('.')
  const field = nameInFile(kind, member)
  if (index === undefined) return field === '' ? [] : [field]
  const sent = valueAt(after, [field, index])
  const listed = valueAt(entry, [field])
  // The request has a sorted list, or one without what occurs twice. Two webhooks may share their name, but they keep their order.
  const position =
    field === 'webhooks' || !Array.isArray(listed) ? Number(index) : listed.findIndex((one) => nameIn(one) === nameIn(sent))
  if (position === -1) return [field]
  const inner = rest[0] === 'resource' || rest[0] === 'action' ? ['code'] : rest
  return [field, position, ...inner.map((segment) => (/^\d+$/.test(segment) ? Number(segment) : segment))]
}

/** The service names an organization by its id, and a permission of a service in three parts. */
function nameInFile(kind: Kind, member: string): string {
  return kind === 'app' && member === 'default_organization_id' ? 'default_organization_slug' : member
}

function nameIn(element: unknown): unknown {
  return isObject(element) ? element.code : element
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (at, segment) => (typeof at === 'object' && at !== null && Object.hasOwn(at, segment) ? Reflect.get(at, segment) : undefined),
    value,
  )
}
