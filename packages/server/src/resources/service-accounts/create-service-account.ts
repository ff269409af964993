import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type FieldError, fieldError, validationFailed } from '../../errors.ts'
import { appScopes, type ServiceScope } from '../../lib/authority.ts'
import type { Actor } from '../../lib/caller.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import { newServiceToken } from '../../lib/service-token.ts'
import { isUniqueViolation } from '../../lib/unique-violation.ts'
import { newId } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { ServiceAccount } from '../../models/service-account.ts'
import { recordEvent } from '../audit/record-event.ts'
import { keepCaller } from '../users/get-user.ts'
import { getServiceAccount } from './get-service-account.ts'
import { presentServiceAccount } from './present.ts'
import type { ServiceAccountInput } from './schema.ts'

/** A service account with its token, which only this answer shows. */
export interface IssuedAccount {
  account: ServiceAccount
  token: string
}

/**
 * Creates a service account. Throws `service_account_name_taken`. Throws `validation_failed` if it would already be expired, if
 * it names no app for a scope that is bound to apps, or if it names an app that does not exist. Throws what `keepCaller` throws.
 */
export async function createServiceAccount(deps: Deps<Pool>, input: ServiceAccountInput, actor: Actor): Promise<IssuedAccount> {
  const now = deps.clock()
  assertFuture(input.expires_at, now)
  const scopes = [...new Set(input.scopes ?? defaultScopes)]
  const appCodes = input.app_codes ?? []
  assertBound(scopes, appCodes)
  const token = newServiceToken()
  try {
    return await transaction(deps, async (deps) => {
      await keepCaller(deps, actor)
      const appIds = await idsOfApps(deps, appCodes)
      const id = newId(now)
      const row = {
        id,
        name: input.name,
        service: input.service,
        scopes,
        token_hash: hashOpaqueToken(token),
        expires_at: input.expires_at ?? null,
        created_at: now,
        updated_at: now,
      }
      await ServiceAccount.insert(deps.db, row, appIds)
      const account = await getServiceAccount(deps, id)
      await recordEvent(deps, {
        event: 'service_account.created',
        actor,
        details: { after: presentServiceAccount(account) },
      })
      return { account, token }
    })
  } catch (error) {
    throw nameTaken(error, input.name)
  }
}

export const defaultScopes: readonly ServiceScope[] = ['permissions:register']

/** Throws `validation_failed` if a token that ends then would already be expired. */
export function assertFuture(expiresAt: number | null | undefined, now: number): void {
  if (expiresAt != null && expiresAt <= now) throw fieldError('expires_at', 'invalid_value', 'must be in the future')
}

/** Throws `validation_failed` if one of the scopes is bound to apps, and there are no apps. */
export function assertBound(scopes: readonly ServiceScope[], appCodes: readonly string[]): void {
  const bound = appScopes.find((scope) => scopes.includes(scope))
  if (bound && appCodes.length === 0) throw fieldError('app_codes', 'required', `is required with the scope ${bound}`)
}

/** The error for a name that another account has, or the given error if it is about something else. */
export function nameTaken(error: unknown, name: string | undefined): unknown {
  if (!isUniqueViolation(error)) return error
  return new ApiError('service_account_name_taken', { detail: `Another service account is named ${name}`, cause: error })
}

/** Throws `validation_failed` and names each code that no app has. */
export async function idsOfApps(deps: Deps<Tx>, codes: readonly string[]): Promise<string[]> {
  if (codes.length === 0) return []
  const apps = await App.listKeptByCodes(deps.db, codes)
  const known = new Set(apps.map(({ code }) => code))
  const errors = codes.flatMap((code, index): FieldError[] =>
    known.has(code) ? [] : [{ path: `app_codes.${index}`, code: 'invalid_value', message: 'unknown app' }],
  )
  if (errors.length > 0) throw validationFailed(errors)
  return apps.map(({ id }) => id)
}
