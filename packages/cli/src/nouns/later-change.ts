import { type Api, bodyOf, pages } from '../api/api-client.ts'
import { type AuditEvent, shownActor } from './audit-events.ts'
import { listIn, recordIn, textIn } from './undo-event.ts'
import { isAbsent } from './user-records.ts'

type Event = Pick<AuditEvent, 'event' | 'app_id' | 'details'>

/** Kinds of events about one thing. Those that end a user, an app or a role stand last. */
const families: readonly (readonly string[])[] = [
  ['grant.created', 'grant.revoked', 'user.offboarded', 'user.deleted', 'app.deleted'],
  ['role.assigned', 'role.unassigned', 'user.offboarded', 'user.deleted', 'role.deleted'],
  ['membership.created', 'membership.updated', 'membership.deleted', 'user.offboarded', 'user.deleted'],
  ['user.suspended', 'user.activated', 'user.offboarded', 'user.deleted'],
  ['user.namespace_changed', 'user.namespaces_changed', 'user.deleted'],
  ['user.updated', 'credentials.removed', 'user.deleted'],
  ['app.updated', 'app.deleted'],
  ['role_permissions.changed', 'role.deleted'],
]

/**
 * Why no command may undo a change: a later event changed the same thing, or its present state is not the one that the change
 * left. Undoing it then could give back what was taken since. Undefined if nothing came in between.
 */
export async function refusalByLaterChange(api: Api, event: AuditEvent): Promise<string | undefined> {
  const later = await findLaterChange(api, event)
  if (later) {
    const told = `${later.event} at ${later.at} by ${shownActor(later)} (event ${later.id})`
    return `This was changed later, so no command undoes it: ${told}`
  }
  if (await isAsLeft(api, event)) return undefined
  return 'This is no longer as the event left it, so no command undoes it'
}

/** The newest of the later events about the same thing. */
async function findLaterChange(api: Api, event: AuditEvent): Promise<AuditEvent | undefined> {
  const kinds = families.find((family) => family.includes(event.event)) ?? []
  const found = await Promise.all(kinds.map((kind) => findLaterOfKind(api, event, kind)))
  return found.filter((each) => each !== undefined).sort((one, other) => (one.id < other.id ? 1 : -1))[0]
}

async function findLaterOfKind(api: Api, event: AuditEvent, kind: string): Promise<AuditEvent | undefined> {
  const query = { event: [kind], since: event.at, ...aboutTheSame(event, kind) }
  const list = pages((page) => bodyOf(api.GET('/api/v1/admin/audit', { params: { query: { ...query, ...page } } })))
  for await (const page of list) {
    const later = page.find((other) => other.id > event.id && changesTheSame(event, other))
    if (later) return later
  }
  return undefined
}

function aboutTheSame({ user_id, app_id }: AuditEvent, kind: string): { user_id?: string; app_id?: string } {
  if (kind.startsWith('app.')) return app_id === null ? {} : { app_id }
  return user_id === null || kind === 'role.deleted' ? {} : { user_id }
}

/** Whether another event about the same user, app or role decides on the same thing, such as one of the settings. */
function changesTheSame(event: Event, other: Event): boolean {
  const fields = changedFields(event)
  switch (other.event) {
    case 'grant.created':
    case 'grant.revoked':
      return event.app_id === other.app_id
    case 'role.assigned':
    case 'role.unassigned':
      return textIn(event.details, 'role_code') === textIn(other.details, 'role_code')
    case 'role.deleted':
      return textIn(event.details, 'role_code') === textIn(recordIn(other.details, 'before'), 'code')
    case 'membership.created':
    case 'membership.updated':
    case 'membership.deleted':
      return textIn(event.details, 'organization_id') === textIn(other.details, 'organization_id')
    case 'user.updated':
    case 'app.updated':
      return changedFields(other).some((field) => fields.includes(field))
    // The account was given to another owner of the address, who may be another person.
    case 'credentials.removed':
      return fields.includes('email') || other.details?.names === true
    case 'role_permissions.changed':
      return (
        textIn(event.details, 'role_code') === textIn(other.details, 'role_code') &&
        changedCodes(other).some((code) => changedCodes(event).includes(code))
      )
    default:
      return true
  }
}

/** Whether the thing is as the event left it, whatever the log says: old events expire, and clocks of servers differ. */
async function isAsLeft(api: Api, event: AuditEvent): Promise<boolean> {
  try {
    if (event.event === 'role_permissions.changed') return await holdsAsLeft(api, event)
    if (event.event !== 'app.updated') return await isUserAsLeft(api, event)
    const path = { appId: event.app_id ?? '' }
    return isPartOf(event, await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path } })))
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}

async function holdsAsLeft(api: Api, event: AuditEvent): Promise<boolean> {
  const path = { roleCode: textIn(event.details, 'role_code') ?? '' }
  const { items } = await bodyOf(api.GET('/api/v1/admin/roles/{roleCode}/permissions', { params: { path } }))
  const left = listIn(recordIn(event.details, 'after'), 'permissions')
  return changedCodes(event).every((code) => items.some((held) => held.code === code) === left.includes(code))
}

async function isUserAsLeft(api: Api, event: AuditEvent): Promise<boolean> {
  const { event: kind, details } = event
  const after = recordIn(details, 'after')
  const path = { userId: event.user_id ?? '' }
  const user = await bodyOf(api.GET('/api/v1/admin/users/{userId}', { params: { path } }))
  if (kind.startsWith('role.')) return user.roles.includes(textIn(details, 'role_code') ?? '') === (kind === 'role.assigned')
  if (kind.startsWith('membership.')) {
    const held = user.organizations.find(({ id }) => id === details?.organization_id)?.role_codes ?? []
    return isEqual(held.toSorted(), listIn(after, 'role_codes').toSorted())
  }
  if (!kind.startsWith('grant.')) return isPartOf(event, user)
  const grant = user.apps.find(({ app_id }) => app_id === event.app_id)
  // The event of an automatic grant does not say that it has no end.
  return grant?.status === (kind === 'grant.created' ? 'active' : 'revoked') && grant.expires_at === (after?.expires_at ?? null)
}

/** Whether the fields that the event changed have the values that it gave them. */
function isPartOf(event: Event, record: object): boolean {
  const present: Record<string, unknown> = { ...record }
  const after = recordIn(event.details, 'after')
  return changedFields(event).every((field) => isEqual(present[field], after?.[field]))
}

/** Without those that change by themselves, or that no command sets. */
function changedFields({ details }: Event): string[] {
  return Object.keys(recordIn(details, 'after') ?? {}).filter((field) => field !== 'updated_at' && field !== 'email_verified')
}

function changedCodes({ details }: Event): string[] {
  const [before, after] = [recordIn(details, 'before'), recordIn(details, 'after')].map((held) => listIn(held, 'permissions'))
  return [...(before ?? []).filter((code) => !after?.includes(code)), ...(after ?? []).filter((code) => !before?.includes(code))]
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
