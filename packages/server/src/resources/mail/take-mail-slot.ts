import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { keyedDigest } from '../../lib/keyed-digest.ts'
import { type Attempt, takeAttempt } from '../rate-limits/take-attempt.ts'

const slots = 3
const accountMailSeconds = 15 * 60
const invitationSeconds = 24 * 60 * 60

/**
 * Takes one of three slots, each of which is free again after 15 minutes. Any 15 minutes therefore have at most three mails, even
 * across the end of a fixed window, with concurrent requests and several servers. Returns undefined if all slots are taken.
 */
export async function takeMailSlot(
  deps: Deps<Pool>,
  kind: 'sent' | 'asked',
  ...what: readonly string[]
): Promise<Attempt | undefined> {
  return takeSlot(deps, kind, accountMailSeconds, what)
}

/** Takes one of three slots for invitations to an address in any 24 hours, from all senders together. */
export async function takeInvitationSlot(deps: Deps<Pool>, email: string): Promise<Attempt | undefined> {
  return takeSlot(deps, 'sent', invitationSeconds, ['invitation', email])
}

async function takeSlot(
  deps: Deps<Pool>,
  kind: 'sent' | 'asked',
  seconds: number,
  what: readonly string[],
): Promise<Attempt | undefined> {
  const key = `mail-${kind}:${keyedDigest(deps.config.encryptionKeys[0], `mail-${kind}`, ...what)}`
  for (let slot = 0; slot < slots; slot += 1) {
    try {
      return await takeAttempt(deps, `${key}:${slot}`, { count: 1, seconds })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
    }
  }
  return undefined
}
