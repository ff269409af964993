import {
  byName,
  type Declaration,
  type DeclaredService,
  type DeclaredWebhook,
  type Entry,
  type Kind,
  nameOf,
  type Section,
  sections,
} from './declaration.ts'
import type { Installation } from './read-installation.ts'
import { isSame } from './render-declaration.ts'

export interface FieldChange {
  field: string
  before: unknown
  after: unknown
}

export interface Change {
  change: 'create' | 'update' | 'prune'
  kind: Kind
  code: string
  /** What a new entry has beyond the standard, or what becomes otherwise in one that is there; none of what goes. */
  fields: FieldChange[]
}

/** A change with all that is needed to make it. */
export interface PlannedChange extends Change {
  before: Entry | undefined
  after: Entry | undefined
}

export interface Plan {
  /** In the order in which they can be made. */
  changes: PlannedChange[]
  /** How many entries of the file are as it says already. */
  unchanged: number
  /** What is there and not in a section of the file. Goes with `prune`, stays without. */
  unlisted: { kind: Kind; code: string }[]
}

/**
 * What makes an installation what the file says. Without `prune`, what the file does not list stays, permissions of a service it
 * lists too.
 */
export function planChanges(declaration: Declaration, installation: Installation, { prune }: { prune: boolean }): Plan {
  const wanted = prune ? declaration : withPermissionsKept(declaration, installation)
  const lost = prune ? lostPermissions(declaration, installation) : new Set<string>()
  const changes: PlannedChange[] = []
  const unlisted: Plan['unlisted'] = []
  let unchanged = 0
  for (const [section, { kind }] of Object.entries(sections) as [Section, { kind: Kind }][]) {
    const after: Entry[] | undefined = wanted[section]
    if (!after) continue
    const before = installedEntries(section, installation, lost)
    for (const entry of after) {
      const current = before.get(nameOf(entry))
      before.delete(nameOf(entry))
      const change = compare(kind, current, entry, installation)
      if (change) changes.push(change)
      else unchanged += 1
    }
    for (const [code, entry] of before) {
      if (kind === 'role' && installation.builtInRoles.has(code)) continue
      unlisted.push({ kind, code })
      if (prune) changes.push({ change: 'prune', kind, code, fields: [], before: entry, after: undefined })
    }
  }
  return { changes: inOrder(changes), unchanged, unlisted }
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

/** The entries that are there, as they will be when those before them have been changed. */
function installedEntries(section: Section, installation: Installation, lost: ReadonlySet<string>): Map<string, Entry> {
  const entries = new Map<string, Entry>()
  for (const entry of installation[section]) {
    const isRole = 'scope' in entry
    entries.set(nameOf(entry), isRole ? { ...entry, permissions: entry.permissions.filter((code) => !lost.has(code)) } : entry)
  }
  return entries
}

/** Codes that leave their service with `prune`, and so the roles that hold them, even when another service takes them over. */
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

function compare(kind: Kind, current: Entry | undefined, entry: Entry, installation: Installation): PlannedChange | undefined {
  const secrets = (current && 'webhooks' in current && installation.secretWebhooks.get(current.code)) || []
  const before = current ?? standardEntry(kind, entry)
  const fields = Object.keys(entry).flatMap((field): FieldChange[] => {
    const [old, fresh] = [before[field as keyof Entry] as unknown, entry[field as keyof Entry] as unknown]
    const isChanged = field === 'webhooks' ? !isSameWebhooks(old, fresh, secrets) : !isSame(old, fresh)
    return isChanged ? [{ field, before: current ? shown(old) : null, after: shown(fresh) }] : []
  })
  if (current && fields.length === 0) return undefined
  // A service that has no permission is not there, and need not be made.
  if (!current && kind === 'service' && (entry as DeclaredService).permissions.length === 0) return undefined
  const change = current ? 'update' : 'create'
  return { change, kind, code: nameOf(entry), fields, before: current, after: entry }
}

/** A new entry of this name before anything else is said of it. */
function standardEntry(kind: Kind, entry: Entry): Entry {
  const { fields } = Object.values(sections).find((section) => section.kind === kind)!
  const standard: Record<string, unknown> = {}
  for (const [key, field] of Object.entries(fields)) {
    const isNaming = key === 'service' || key === 'code'
    if (isNaming) standard[key] = entry[key as keyof Entry]
    else if (field.standard) standard[key] = field.standard(standard)
  }
  return standard as unknown as Entry
}

/** A secret that the file brings is written anew each time: nobody can tell whether it is the one that is there. */
function isSameWebhooks(old: unknown, fresh: unknown, withSecret: readonly string[]): boolean {
  const plain = (webhooks: unknown) => (webhooks as DeclaredWebhook[]).map((webhook) => ({ ...webhook, secret: undefined }))
  if (!isSame(plain(old), plain(fresh))) return false
  return (fresh as DeclaredWebhook[]).every(({ name, secret }) =>
    secret === null ? !withSecret.includes(name) : secret === undefined,
  )
}

/** As it may be shown: what a secret is stays in the file. */
function shown(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (key, member) => (key === 'secret' && typeof member === 'string' ? '[redacted]' : member)),
  )
}

/** Codes that a service has and will not have. */
export function codesGone(before: Entry | undefined, after: Entry | undefined): string[] {
  const codes = (entry: Entry | undefined) => (entry && 'service' in entry ? entry.permissions.map(({ code }) => code) : [])
  const kept = new Set(codes(after))
  return codes(before).filter((code) => !kept.has(code))
}

/** Whether an entry goes, or permissions of a service do. */
export function isPruning({ change, before, after }: PlannedChange): boolean {
  return change === 'prune' || codesGone(before, after).length > 0
}

/** Services and roles before what names them; what goes, after all that, apps first. */
function inOrder(changes: readonly PlannedChange[]): PlannedChange[] {
  const kinds: Kind[] = ['service', 'role', 'app']
  const rank = ({ kind, change }: PlannedChange) => (change === 'prune' ? 5 - kinds.indexOf(kind) : kinds.indexOf(kind))
  return [...changes].sort((one, other) => rank(one) - rank(other))
}
