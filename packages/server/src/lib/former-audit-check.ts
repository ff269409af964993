import { isRecord, recordIn } from './collections.ts'

const kinds: readonly string[] = ['changed', 'removed', 'inserted', 'unknown_key'] satisfies FormerFault['kind'][]
const subjects: readonly string[] = ['event', 'batch', 'head', 'checkpoint'] satisfies FormerFault['subject'][]

interface FormerFault {
  kind: 'changed' | 'removed' | 'inserted' | 'unknown_key'
  subject: 'event' | 'batch' | 'head' | 'checkpoint'
  position: number | null
  event_id: string | null
}

/** What was found wrong with the chain of a former version when it was compared, before it was closed. */
export interface FormerFaults {
  count: number
  /** The first ten. */
  first: FormerFault[]
}

/** How far that chain was compared, and what was found. */
export interface FormerCheck {
  /** The position of its end. */
  position: number
  checked: number
  isClosed: boolean
  faults: FormerFaults
}

interface Former {
  position: number
  former_checked: number | null
  former_closed: number
  former_faults: string | null
}

/** Undefined if no former version has left a chain. */
export function formerCheckOf(chain: Former | undefined): FormerCheck | undefined {
  if (!chain || chain.position === 0) return undefined
  const { position, former_checked, former_closed, former_faults } = chain
  return { position, checked: former_checked ?? 0, isClosed: former_closed === 1, faults: faultsIn(former_faults) }
}

/** Whether all that a former version has sealed was compared, or there is none. */
export function isFormerChecked({ position, former_checked }: Pick<Former, 'position' | 'former_checked'>): boolean {
  return (former_checked ?? 0) === position
}

export function faultsIn(json: string | null): FormerFaults {
  const { count, first } = recordIn(json ?? '')
  return { count: Number.isSafeInteger(count) ? Number(count) : 0, first: Array.isArray(first) ? first.filter(isFault) : [] }
}

/** Somebody may have changed the text. The signature of the end tells, and what it says is shown beside that. */
function isFault(value: unknown): value is FormerFault {
  if (!isRecord(value)) return false
  const { kind, subject, position, event_id } = value
  const isNamed = kinds.includes(String(kind)) && subjects.includes(String(subject))
  return isNamed && (position === null || Number.isSafeInteger(position)) && (event_id === null || typeof event_id === 'string')
}
