import { grantAccess } from '../nouns/grant-access.ts'
import type { Tools } from '../tools/create-tools.ts'
import { type Journal, note } from './journal.ts'

/** Grants a first user access to the app. */
export async function grantFirst(
  tools: Tools,
  code: string,
  { id, ref }: { id: string; ref: string },
  journal: Journal,
): Promise<void> {
  const { reason } = tools.settings
  const body = reason === undefined ? {} : { reason }
  const { outcome } = await grantAccess(tools.planningApi, { userId: id, appId: code }, body)
  const words = ['grant', 'add', '--app', code, '--user', ref, ...(reason === undefined ? [] : ['--reason', reason])]
  note(tools, journal, { step: `grant to ${ref}`, outcome }, words)
}
