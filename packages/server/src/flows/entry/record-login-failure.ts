import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'

/** Whose credentials are tried, and for which app. */
export interface AttemptTarget {
  email: string
  /** Undefined when nobody of the app has the address. */
  user: { id: string } | undefined
  /** Null without an app. */
  app: { id: string } | null
}

/** Tells the audit, and nobody else, why somebody did not come in. */
export async function recordLoginFailure(
  deps: Deps,
  error: ApiError,
  { email, user, app }: AttemptTarget,
  actor: Actor,
): Promise<void> {
  const reason = error.code !== 'invalid_credentials' ? error.code : user ? 'wrong_password' : 'unknown_user'
  const about = { userId: user?.id ?? null, appId: app?.id ?? null }
  await recordEvent(deps, { event: 'login.failed', actor, reason, ...about, details: { email } })
}

/** Runs a step of a login outside of an attempt; what it refuses is audited. */
export function recordingLoginFailure<T>(deps: Deps, target: AttemptTarget, actor: Actor, step: () => Promise<T>): Promise<T> {
  return recording((error) => recordLoginFailure(deps, error, target, actor), step)
}

/** Runs a step; what it refuses is recorded, and thrown again. */
export async function recording<T>(record: (error: ApiError) => Promise<void>, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (error instanceof ApiError) await record(error)
    throw error
  }
}
