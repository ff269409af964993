import { type Api, bodyOf, pages, readAll } from '../../api/api-client.ts'
import { positional } from '../../command-line/options.ts'
import { type AuditEvent, shownActor } from '../../nouns/audit-events.ts'
import { parsePlainName } from '../../nouns/plain-name.ts'
import { wordsToTakeRole } from '../../nouns/undo-event.ts'
import { userSubject } from '../../nouns/user-commands.ts'
import { getUserDetail } from '../../nouns/user-records.ts'
import { userRefOf } from '../../nouns/user-ref.ts'
import { rowsOf } from '../../output/output.ts'
import { toCommandLine } from '../../text/shell-words.ts'
import { command } from '../../tools/command.ts'

export const whoGave = command({
  path: 'audit who',
  options: { user: userSubject, role: positional('ROLE', 'A global role, or one within organizations') },
  summary: 'Show who gave a user a role, and who removed it',
  description:
    'Newest first, as far back as the audit goes. Also shows whether the user holds the role now, and how to remove it. To find the ' +
    'holders of a role, use user find --role ROLE.',
  examples: [
    'audit who bob@example.com system_admin',
    'audit who bob@example.com org_admin',
    'audit who bob@example.com support --json',
  ],
  async run({ api }, input) {
    const role = parsePlainName(input.role, 'role')
    const user = await getUserDetail(api, input.user)
    const organizations = new Map(user.organizations.map(({ id, slug }) => [id, slug]))
    const changes: Change[] = []
    for (const event of await changesOf(api, user.id)) {
      const change = changeOf(event, role)
      if (!change) continue
      const id = textOf(event.details?.organization_id)
      changes.push({
        at: event.at,
        change,
        by: event.actor.type === 'system' ? 'the service itself, or its command line' : shownActor(event),
        organization: id === undefined ? null : (organizations.get(id) ?? id),
        ip: event.ip,
        why: event.audit_reason,
        event_id: event.id,
      })
    }
    const within = user.organizations.filter(({ role_codes }) => role_codes.includes(role)).map(({ slug }) => slug)
    const holds = user.roles.includes(role)
    const remedy = holds ? `authctl ${toCommandLine(wordsToTakeRole(user.id, role))}` : null
    const head = { user: userRefOf(user), user_id: user.id, role, holds, organizations: within }
    const table = rowsOf(changes, ['at', 'change', 'by', 'organization', 'ip', 'why'])
    return {
      kind: 'report',
      value: { ...head, changes, remedy },
      parts: [
        { record: head },
        '',
        ...(changes.length > 0 ? [table] : ['The audit does not say who gave it.']),
        ...(remedy ? ['', 'To remove it:', `  ${remedy}`] : []),
      ],
    }
  },
})

const changesOfRoles = [
  'role.assigned',
  'role.unassigned',
  'membership.created',
  'membership.updated',
  'membership.deleted',
] as const

interface Change {
  at: string
  change: 'given' | 'taken'
  by: string
  organization: string | null
  ip: string | null
  why: string | null
  event_id: string
}

/** Newest first. */
async function changesOf(api: Api, userId: string): Promise<AuditEvent[]> {
  const lists = await Promise.all(
    changesOfRoles.map((event) =>
      readAll(
        pages((page) => bodyOf(api.GET('/api/v1/admin/audit', { params: { query: { user_id: userId, event, ...page } } }))),
      ),
    ),
  )
  return lists.flat().sort((one, other) => (one.id < other.id ? 1 : -1))
}

/** What the event did to the role. Undefined if it did not change it. */
function changeOf({ event, details }: AuditEvent, role: string): Change['change'] | undefined {
  if (event === 'role.assigned' || event === 'role.unassigned') {
    if (details?.role_code !== role) return undefined
    return event === 'role.assigned' ? 'given' : 'taken'
  }
  const [before, after] = [hasRole(details?.before, role), hasRole(details?.after, role)]
  if (before === after) return undefined
  return after ? 'given' : 'taken'
}

function hasRole(state: unknown, role: string): boolean {
  const codes = typeof state === 'object' && state !== null && 'role_codes' in state ? state.role_codes : undefined
  return Array.isArray(codes) && codes.includes(role)
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
