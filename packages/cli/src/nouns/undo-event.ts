import { appFlags } from './app-settings.ts'
import type { AuditEvent } from './audit-events.ts'

/** The command that undoes a change, as the words after `authctl`. Undefined if no single command does. */
export function undoOf({
  event,
  user_id: user,
  app_id: app,
  details,
}: Pick<AuditEvent, 'event' | 'user_id' | 'app_id' | 'details'>): string[] | undefined {
  const text = (member: string) => textIn(details, member)
  const before = recordIn(details, 'before')
  if (user !== null && app !== null) {
    if (event === 'grant.created') return undoOfGrant(app, user, before)
    if (event === 'grant.revoked') return ['grant', 'add', '--app', app, '--user', user]
  }
  if (user !== null) return undoOfUser(event, user, text, before)
  if (app !== null && event === 'app.updated') return undoOfApp(app, before)
  return event === 'role_permissions.changed' ? undoOfPermissions(details) : undefined
}

/** If the grant was active before, the event changed it rather than made it. Only its end can be set back. */
function undoOfGrant(app: string, user: string, before: Record<string, unknown> | undefined): string[] | undefined {
  const words = ['--app', app, '--user', user]
  if (textIn(before, 'status') !== 'active') return ['grant', 'revoke', ...words, '--yes']
  const expires = textIn(before, 'expires_at')
  return expires === undefined ? undefined : ['grant', 'add', ...words, '--expires', expires]
}

/** Undefined if some were added and others removed, which takes two commands to undo. */
function undoOfPermissions(details: AuditEvent['details']): string[] | undefined {
  const role = textIn(details, 'role_code')
  const [before, after] = ['before', 'after'].map((member) => listIn(recordIn(details, member), 'permissions')) as [
    string[],
    string[],
  ]
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
      return role === undefined ? undefined : ['user', 'role', user, '--role', role, '--remove', '--yes']
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

function memberOf(organization: string, user: string): string[] {
  return ['org', 'member', '--org', organization, '--user', user]
}

function undoOfProfile(user: string, before: Record<string, unknown> | undefined): string[] | undefined {
  const flags = { email: '--email', first_name: '--first-name', last_name: '--last-name' }
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

function recordIn(of: Record<string, unknown> | null | undefined, member: string): Record<string, unknown> | undefined {
  const value = of?.[member]
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
}

function textIn(of: Record<string, unknown> | null | undefined, member: string): string | undefined {
  const value = of?.[member]
  return typeof value === 'string' ? value : undefined
}

function listIn(of: Record<string, unknown> | undefined, member: string): string[] {
  const value: unknown = of?.[member]
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}
