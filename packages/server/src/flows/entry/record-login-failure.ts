import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { countEvent, type NewAuditEvent, recordEvent } from '../../resources/audit/record-event.ts'

/** Whose credentials are tried, and for which app. */
export interface AttemptTarget {
  email: string
  /** Undefined when nobody of the app has the address. */
  user: { id: string } | undefined
  /** Null without an app. */
  app: { id: string } | null
}

/** What a caller names before anybody knows whether it is there. */
export interface NamedTarget extends Partial<AttemptTarget> {
  email: string
  appCode?: string | undefined
}

/** Tells the audit, and nobody else, why somebody did not come in. */
export async function recordLoginFailure(deps: Deps, error: ApiError, target: AttemptTarget, actor: Actor): Promise<void> {
  await recordEvent(deps, failureOf(error, target, actor))
}

/**
 * The same for somebody who was refused before any hash. Such refusals cost their caller nothing, so those that come from one address for
 * one app and one reason are counted in one event a minute.
 */
export async function countLoginRefusal(deps: Deps, error: ApiError, target: NamedTarget, actor: Actor): Promise<void> {
  const key = [actor.origin.ip, target.app?.id ?? target.appCode ?? '', error.code]
  await countEvent(deps, failureOf(error, target, actor), key)
}

function failureOf(error: ApiError, { email, user, app, appCode }: NamedTarget, actor: Actor): NewAuditEvent {
  const reason = error.code !== 'invalid_credentials' ? error.code : user ? 'wrong_password' : 'unknown_user'
  const about = user ? { userId: user.id } : { email }
  const details = { email, ...(app || appCode === undefined ? {} : { app_code: appCode }) }
  return { event: 'login.failed', actor, reason, appId: app?.id ?? null, ...about, details }
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
