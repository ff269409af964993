import type { Actor } from './caller.ts'
import { networkOf } from './client-address.ts'

/** More turns than a single user gets, since a backend asks for many users at once. */
const turnsOfBackends = 8

export interface HashLine {
  key: string
  turns: number
  /** Lines of one source share its turns. */
  source: string
}

/**
 * The line in which a password waits for its hash: that of the user, of the known device, or else of the source. The source is
 * the client's address (of IPv6 its /48), or a backend that is exempt from limits. Sources are served in turn, and so are the
 * lines of each. A flood therefore barely delays others, however many accounts and devices it uses.
 */
export function hashLineOf({ caller, origin }: Actor, device?: string): HashLine {
  const source = origin.exemptApp === undefined ? `address:${networkOf(origin.ip, 48)}` : `app:${origin.exemptApp}`
  const turns = origin.exemptApp === undefined ? 1 : turnsOfBackends
  if (caller?.kind === 'user') return { key: `user:${caller.userId}`, turns, source }
  return { key: device ?? source, turns, source }
}
