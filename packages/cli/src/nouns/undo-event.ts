import { noExpiry } from '../command-line/duration.ts'
import { longestReason } from '../command-line/settings.ts'
import { escapeControls } from '../text/escape-controls.ts'
import { appFlags } from './app-settings.ts'
import type { AuditEvent } from './audit-events.ts'

/** The words after `authctl` that undo a change, or the reason why no command does. */
export type Undo = { words: string[] } | { refusal: string }

/**
 * What undoes a change as long as nothing changed the same thing since. Undefined if no single command does. `now` in
 * milliseconds.
 */
export function undoOf(event: Pick<AuditEvent, 'event' | 'user_id' | 'app_id' | 'details'>, now: number): Undo | undefined {
  const { user_id: user, app_id: app, details } = event
  const before = recordIn(details, 'before')
  if (user !== null && app !== null && event.event === 'grant.revoked') return undoOfRevocation({ app, user }, before, now)
  const words = wordsThatUndo(event, before, now)
  return words && { words }
}

function wordsThatUndo(
  { event, user_id: user, app_id: app, details }: Parameters<typeof undoOf>[0],
  before: Record<string, unknown> | undefined,
  now: number,
): string[] | undefined {
  const text = (member: string) => textIn(details, member)
  if (user !== null && app !== null && event === 'grant.created') return undoOfGrant({ app, user }, before, now)
  if (user !== null) return undoOfUser(event, user, text, before)
  if (app !== null && event === 'app.updated') return undoOfApp(app, before)
  return event === 'role_permissions.changed' ? undoOfPermissions(details) : undefined
}

interface Grant {
  app: string
  user: string
}

/** Gives back what was taken and no more: access that was to end must not become access without an end. */
function undoOfRevocation(grant: Grant, before: Record<string, unknown> | undefined, now: number): Undo {
  if (!before) {
    const refusal = 'This event does not say when the access was to end, so no command restores it; see authctl grant list'
    return { refusal }
  }
  const end = endIn(before)
  if (end !== undefined && Date.parse(end) <= now)
    return { refusal: `The access ended at ${end}, so there is nothing to restore` }
  return { words: giveBack(grant, before, end === undefined ? [] : ['--expires', end]) }
}

/** If the grant was active before, the event changed it rather than made it. */
function undoOfGrant(grant: Grant, before: Record<string, unknown> | undefined, now: number): string[] {
  const end = endIn(before)
  const wasActive = textIn(before, 'status') === 'active' && (end === undefined || Date.parse(end) > now)
  return before && wasActive
    ? giveBack(grant, before, ['--expires', end ?? noExpiry])
    : ['grant', 'revoke', '--app', grant.app, '--user', grant.user, '--yes']
}

function giveBack({ app, user }: Grant, before: Record<string, unknown>, expiry: string[]): string[] {
  const reason = textIn(before, 'reason')
  const isTypeable = reason !== undefined && [...reason].length <= longestReason && escapeControls(reason) === reason
  return ['grant', 'add', '--app', app, '--user', user, ...expiry, ...(isTypeable ? ['--reason', reason] : [])]
}

function endIn(before: Record<string, unknown> | undefined): string | undefined {
  return textIn(before, 'expires_at')
}

/** Undefined if some were added and others removed, which takes two commands to undo. */
function undoOfPermissions(details: AuditEvent['details']): string[] | undefined {
  const role = textIn(details, 'role_code')
  const before = listIn(recordIn(details, 'before'), 'permissions')
  const after = listIn(recordIn(details, 'after'), 'permissions')
  const added = after.filter((code) => !before.includes(code))
  const taken = before.filter((code) => !after.includes(code))
  if (role === undefined || added.length > 0 === taken.length > 0) return undefined
  return ['role', added.length > 0 ? 'forbid' : 'permit', role, '--permission', ...added, ...taken]
}

function undoOfUser(
  event: string,
  user: string,
  text: (member: string) => string | undefined,
  before: Record<string, unknown> | undefined,
): string[] | undefined {
  const role = text('role_code')
  const organization = text('organization_id')
  switch (event) {
    case 'role.assigned':
      return role === undefined ? undefined : wordsToTakeRole(user, role)
    case 'role.unassigned':
      return role === undefined ? undefined : ['user', 'role', user, '--role', role]
    case 'user.suspended':
      return ['user', 'activate', user]
    case 'user.activated':
      return ['user', 'suspend', user, '--yes']
    case 'user.namespace_changed': {
      const pool = textIn(before, 'namespace')
      return pool === undefined ? undefined : ['pool', 'move', '--user', user, '--to', pool, '--yes']
    }
    case 'user.updated':
      return undoOfProfile(user, before)
    case 'membership.created':
      return organization === undefined ? undefined : [...memberOf(organization, user), '--remove', '--yes']
    case 'membership.updated':
    case 'membership.deleted': {
      const roles = listIn(before, 'role_codes')
      return organization === undefined || roles.length === 0 ? undefined : [...memberOf(organization, user), '--role', ...roles]
    }
    default:
      return undefined
  }
}

/** The words after `authctl` that take a global role away. */
export function wordsToTakeRole(user: string, role: string): string[] {
  return ['user', 'role', user, '--role', role, '--remove', '--yes']
}

function memberOf(organization: string, user: string): string[] {
  return ['org', 'member', '--org', organization, '--user', user]
}

function undoOfProfile(user: string, before: Record<string, unknown> | undefined): string[] | undefined {
  const flags = { email: '--email', first_name: '--first-name', last_name: '--last-name', locale: '--locale' }
  const words = Object.entries(flags).flatMap(([name, flag]) =>
    before && name in before ? [flag, textIn(before, name) ?? ''] : [],
  )
  return words.length === 0 ? undefined : ['user', 'update', user, ...words]
}

function undoOfApp(app: string, before: Record<string, unknown> | undefined): string[] | undefined {
  const { status, updated_at: _, ...settings } = before ?? {}
  if (Object.keys(settings).length > 0) {
    const flags = status === undefined ? appFlags(settings) : undefined
    return flags && ['app', 'update', app, ...flags]
  }
  if (status === 'active') return ['app', 'activate', app]
  return status === 'inactive' ? ['app', 'deactivate', app, '--yes'] : undefined
}

export function recordIn(of: Record<string, unknown> | null | undefined, member: string): Record<string, unknown> | undefined {
  const value = of?.[member]
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
}

export function textIn(of: Record<string, unknown> | null | undefined, member: string): string | undefined {
  const value = of?.[member]
  return typeof value === 'string' ? value : undefined
}

export function listIn(of: Record<string, unknown> | undefined, member: string): string[] {
  const value: unknown = of?.[member]
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}
