import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { addressKey } from '../../lib/client-address.ts'
import { cutCode } from '../../lib/fields.ts'
import { countEvent, type NewAuditEvent, recordEvent } from '../../resources/audit/record-event.ts'

/** Whose credentials are tried, and for which app. */
export interface AttemptTarget {
  email: string
  /** Undefined if no user of the app has the address. */
  user: { id: string } | undefined
  /** Null without an app. */
  app: { id: string } | null
}

/** What the caller named, before it is known whether it exists. */
export interface NamedTarget extends Partial<AttemptTarget> {
  email: string
  appCode?: string | undefined
}

/** Records in the audit why a login failed. The caller may get a less specific error. */
export async function recordLoginFailure(deps: Deps, error: ApiError, target: AttemptTarget, actor: Actor): Promise<void> {
  await recordEvent(deps, failureOf(error, target, actor))
}

/**
 * Like `recordLoginFailure`, for a login that was refused before any hash. Such refusals cost the caller nothing, so those from
 * one address for one app and one reason share one event per minute. All codes that no app has count as one app, and all
 * addresses of an IPv6 customer as one address: callers can make up as many as they like.
 */
export async function countLoginRefusal(deps: Deps, error: ApiError, target: NamedTarget, actor: Actor): Promise<void> {
  // If the app was not found, only one error says that the code exists.
  const app = target.app?.id ?? (error.code === 'app_inactive' ? target.appCode : undefined) ?? ''
  const key = [addressKey(actor.origin.ip), app, error.code]
  await countEvent(deps, failureOf(error, target, actor), key)
}

function failureOf(error: ApiError, { email, user, app, appCode }: NamedTarget, actor: Actor): NewAuditEvent {
  const reason = error.code !== 'invalid_credentials' ? error.code : user ? 'wrong_password' : 'unknown_user'
  const about = user ? { userId: user.id } : { email }
  const details = { email, ...(app || appCode === undefined ? {} : { app_code: cutCode(appCode) }) }
  return { event: 'login.failed', actor, reason, appId: app?.id ?? null, ...about, details }
}

/** Runs a step of a login outside an attempt, and audits the ApiError if it throws one. */
export function recordingLoginFailure<T>(deps: Deps, target: AttemptTarget, actor: Actor, step: () => Promise<T>): Promise<T> {
  return recording((error) => recordLoginFailure(deps, error, target, actor), step)
}

/** Runs a step. If it throws an ApiError, records and rethrows it. */
export async function recording<T>(record: (error: ApiError) => Promise<void>, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (error instanceof ApiError) await record(error)
    throw error
  }
}
