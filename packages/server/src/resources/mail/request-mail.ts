import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { RequestOrigin } from '../../lib/caller.ts'
import { matchesRedirectUrl } from '../../lib/redirect-url.ts'
import type { App } from '../../models/app.ts'
import { getActiveApp } from '../apps/get-app.ts'
import { addTokenMail } from './add-mail.ts'
import type { MailRequest } from './schema.ts'
import { takeMailSlot } from './take-mail-slot.ts'
import type { PageOfMail, TokenPurpose } from './token-purpose.ts'

/**
 * Queues a mail to an address, for any caller. It does not look up whether a user has the address, the worker does: known and
 * unknown addresses run the same statements and get the same answer, even once the limit of three is reached. Returns the app,
 * and whether the mail was queued. Throws `app_code_required`, `app_not_found`, `app_inactive`, and `validation_failed` for a
 * redirect URL that the app does not allow.
 */
export async function requestMail(
  deps: Deps<Pool>,
  purpose: TokenPurpose,
  request: MailRequest,
  origin: RequestOrigin,
  page?: PageOfMail,
): Promise<{ app: App; isQueued: boolean }> {
  const { email, app_code: code, redirect_url: redirectUrl } = request
  if (code === undefined) throw new ApiError('app_code_required', { detail: 'app_code: is required' })
  const app = await getActiveApp(deps, code)
  if (redirectUrl !== undefined && !matchesRedirectUrl(redirectUrl, app.allowed_redirect_urls))
    throw fieldError('redirect_url', 'invalid_value', 'is not one of the allowed_redirect_urls of the app')
  // Count per app: requests through another app must not use up the user's requests here.
  if (!(await takeMailSlot(deps, 'asked', purpose, email, app.id))) return { app, isQueued: false }
  await transaction(deps, (deps) => addTokenMail(deps, { purpose, email, appId: app.id, redirectUrl, page }, origin))
  return { app, isQueued: true }
}
