import { describeLogo } from '../nouns/app-logo.ts'
import { byName, isSame, type Kind, nameOf } from './declaration.ts'
import { codesGone, type FieldChange, type Plan, type PlannedChange, type PlannedOf } from './plan.ts'
import type { Installation } from './read-installation.ts'
import { type Declaration, type DeclaredService, type Entry, standardsOf } from './schema.ts'

/**
 * Plans the changes that make an installation match the file. Without `prune`, everything that the file does not list stays, also
 * permissions of a service that it lists.
 */
export function planChanges(declaration: Declaration, installation: Installation, { prune }: { prune: boolean }): Plan {
  const { services, roles, apps } = prune ? declaration : withPermissionsKept(declaration, installation)
  const lost = prune ? lostPermissions(declaration, installation) : new Set<string>()
  const rolesAfterwards = installation.roles.map((role) => ({
    ...role,
    permissions: role.permissions.filter((code) => !lost.has(code)),
  }))
  const ofServices = planSection('service', installation.services, services, installation, prune)
  const ofRoles = planSection('role', rolesAfterwards, roles, installation, prune)
  const ofApps = planSection('app', installation.apps, apps, installation, prune)
  return {
    changes: inOrder([...ofServices.changes, ...ofRoles.changes, ...ofApps.changes]),
    unchanged: ofServices.unchanged + ofRoles.unchanged + ofApps.unchanged,
    unlisted: [...ofServices.unlisted, ...ofRoles.unlisted, ...ofApps.unlisted],
  }
}

/** `current` holds the existing entries, as they will be after the changes to earlier sections. */
function planSection<K extends Kind, E extends Entry>(
  kind: K,
  current: readonly E[],
  wanted: readonly E[] | undefined,
  installation: Installation,
  prune: boolean,
): Omit<Plan, 'changes'> & { changes: PlannedOf<K, E>[] } {
  const changes: PlannedOf<K, E>[] = []
  if (!wanted) return { changes, unchanged: 0, unlisted: [] }
  const before = new Map(current.map((entry) => [nameOf(entry), entry]))
  for (const entry of wanted) {
    const change = compare(kind, before.get(nameOf(entry)), entry, installation)
    before.delete(nameOf(entry))
    if (change) changes.push(change)
  }
  const unchanged = wanted.length - changes.length
  const gone = [...before].filter(([code]) => kind !== 'role' || !installation.builtInRoles.has(code))
  if (prune)
    for (const [code, entry] of gone) changes.push({ change: 'prune', kind, code, fields: [], before: entry, after: undefined })
  return { changes, unchanged, unlisted: gone.map(([code]) => ({ kind, code })) }
}

function withPermissionsKept(declaration: Declaration, { services }: Installation): Declaration {
  if (!declaration.services) return declaration
  const kept = declaration.services.map(({ service, permissions }) => {
    const listed = new Set(permissions.map(({ code }) => code))
    const others = permissionsOf(services, service).filter(({ code }) => !listed.has(code))
    return { service, permissions: byName([...permissions, ...others], ({ code }) => code) }
  })
  return { ...declaration, services: kept }
}

function permissionsOf(services: readonly DeclaredService[], service: string): DeclaredService['permissions'] {
  return services.find((one) => one.service === service)?.permissions ?? []
}

/** Permission codes that a service loses with `prune`. Its roles lose them too, even if another service takes the codes over. */
export function lostPermissions({ services }: Declaration, installation: Installation): Set<string> {
  if (!services) return new Set()
  return new Set(
    installation.services.flatMap((current) =>
      codesGone(
        current,
        services.find(({ service }) => service === current.service),
      ),
    ),
  )
}

function compare<K extends Kind, E extends Entry>(
  kind: K,
  current: E | undefined,
  entry: E,
  installation: Installation,
): PlannedOf<K, E> | undefined {
  const before: Record<string, unknown> = current ? { ...current } : standardEntry(kind, entry)
  const after: Record<string, unknown> = { ...entry }
  const fields = [...standardsOf(kind, {}).keys()].flatMap((field): FieldChange[] => {
    const [old, fresh] = [before[field], after[field]]
    const isChanged = field === 'webhooks' ? haveWebhooksChanged(current, entry, installation) : !isSame(old, fresh)
    return isChanged ? [{ field, before: current ? shown(old) : null, after: shown(fresh) }] : []
  })
  if (current && fields.length === 0) return undefined
  // A service without permissions does not exist and need not be created.
  if (!current && 'service' in entry && entry.permissions.length === 0) return undefined
  return { change: current ? 'update' : 'create', kind, code: nameOf(entry), fields, before: current, after: entry }
}

/** What is left of a change once the service has answered how it would write the fields that were `asked`. */
export function settledChange(
  change: PlannedChange,
  asked: PlannedChange,
  answer: Record<string, unknown>,
  installation: Installation,
): PlannedChange | undefined {
  // The answer to a registration counts permissions.
  if (change.kind === 'service' || !change.after) return change
  const [wanted, sent]: Record<string, unknown>[] = [{ ...change.after }, { ...asked.after }]
  // A secret is shown in another form, and a list from which references were left out says nothing of them.
  const written = asked.fields.flatMap(({ field }) =>
    field !== 'webhooks' && field in answer && isSame(wanted?.[field], sent?.[field]) ? [[field, answer[field]]] : [],
  )
  const after = { ...change.after, ...Object.fromEntries(written) } as typeof change.after
  return compare(change.kind, change.before, after, installation) as PlannedChange | undefined
}

/** A new entry of this name with default values. */
function standardEntry(kind: Kind, entry: Entry): Record<string, unknown> {
  const standards = [...standardsOf(kind, { code: nameOf(entry) })].map(([field, standard]) => [field, standard?.value])
  return { ...Object.fromEntries(standards), [kind === 'service' ? 'service' : 'code']: nameOf(entry) }
}

/** A secret in the file is written each time, since the stored one cannot be read back for comparison. */
function haveWebhooksChanged(current: Entry | undefined, entry: Entry, { secretWebhooks }: Installation): boolean {
  const webhooksOf = (one: Entry | undefined) => (one && 'webhooks' in one ? one.webhooks : [])
  const plain = (one: Entry | undefined) => webhooksOf(one).map((webhook) => ({ ...webhook, secret: undefined }))
  if (!isSame(plain(current), plain(entry))) return true
  const withSecret = (current && secretWebhooks.get(nameOf(current))) ?? []
  const hasSecret = (webhook: { name: string; url: string }) =>
    withSecret.some(({ name, url }) => name === webhook.name && url === webhook.url)
  return webhooksOf(entry).some((webhook) => (webhook.secret === null ? hasSecret(webhook) : webhook.secret !== undefined))
}

/** The value with its secrets and images replaced. */
function shown(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (key, member: unknown) => {
      if (typeof member !== 'string') return member
      return key === 'secret' ? '[redacted]' : describeLogo(member)
    }),
  )
}

/** Orders the changes: creates services and roles before the entries that refer to them, and deletes last, apps first. */
function inOrder(changes: readonly PlannedChange[]): PlannedChange[] {
  const kinds: Kind[] = ['service', 'role', 'app']
  const rank = ({ kind, change }: PlannedChange) => (change === 'prune' ? 5 - kinds.indexOf(kind) : kinds.indexOf(kind))
  return [...changes].sort((one, other) => rank(one) - rank(other))
}
