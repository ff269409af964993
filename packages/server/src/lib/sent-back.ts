import { isDeepStrictEqual } from 'node:util'

/** Read-only members of a record, as the caller sent them back. */
export type SentBack = Readonly<Record<string, unknown>>

/** Members that change without a write, or exist only in answers. They are ignored when they are sent back. */
const volatileMembers = new Set(['updated_at', 'last_login_at', 'last_used_at', 'locked_until', 'has_secret', 'warnings'])

/**
 * Splits a body into what it sets and what it only sends back. `members` are those of the record, `settable` those that the body
 * may set.
 */
export function partSentBack(
  sent: Record<string, unknown>,
  { members, settable }: Record<'members' | 'settable', readonly string[]>,
): { given: Record<string, unknown>; sentBack: SentBack } {
  const isReadOnly = (name: string) => members.includes(name) && !settable.includes(name)
  const entries = Object.entries(sent)
  return {
    given: Object.fromEntries(entries.filter(([name]) => !isReadOnly(name))),
    sentBack: Object.fromEntries(entries.filter(([name]) => isReadOnly(name) && !volatileMembers.has(name))),
  }
}

/** The names of the members that differ from the record. */
export function changedMembers(sentBack: SentBack, record: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(sentBack).flatMap(([name, value]) => (isDeepStrictEqual(value, record[name]) ? [] : [name]))
}
