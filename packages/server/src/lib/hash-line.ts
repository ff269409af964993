import type { Actor } from './caller.ts'
import { networkOf } from './client-address.ts'

/** More turns than a user has, since a backend asks for many users at once. */
const turnsOfBackends = 8

export interface HashLine {
  key: string
  turns: number
}

/**
 * The line in which a password waits for its hash: behind the others of the same user, of the same known device, of the same backend
 * that is exempt from limits, or of the same address, an IPv6 one by its /48. Lines are served in turn, so a flood from one of them
 * delays nobody else much.
 */
export function hashLineOf({ caller, origin }: Actor, device?: string): HashLine {
  if (caller?.kind === 'user') return { key: `user:${caller.userId}`, turns: 1 }
  if (device !== undefined) return { key: device, turns: 1 }
  if (origin.exemptApp !== undefined) return { key: `app:${origin.exemptApp}`, turns: turnsOfBackends }
  return { key: `address:${networkOf(origin.ip, 48)}`, turns: 1 }
}
