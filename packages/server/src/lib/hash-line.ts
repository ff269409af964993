import type { Actor } from './caller.ts'
import { networkOf } from './client-address.ts'

/** More turns than a user has, since a backend asks for many users at once. */
const turnsOfBackends = 8

export interface HashLine {
  key: string
  turns: number
  /** Lines of one source share its turns. */
  source: string
}

/**
 * The line in which a password waits for its hash: behind the others of the same user, of the same known device, or else of the same
 * source. The source is the address, an IPv6 one by its /48, or a backend that is exempt from limits. Sources are served in turn, and so
 * are the lines of each: a flood delays nobody else much, however many accounts and devices it comes with.
 */
export function hashLineOf({ caller, origin }: Actor, device?: string): HashLine {
  const source = origin.exemptApp === undefined ? `address:${networkOf(origin.ip, 48)}` : `app:${origin.exemptApp}`
  const turns = origin.exemptApp === undefined ? 1 : turnsOfBackends
  if (caller?.kind === 'user') return { key: `user:${caller.userId}`, turns, source }
  return { key: device ?? source, turns, source }
}
