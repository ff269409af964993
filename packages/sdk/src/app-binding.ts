import { type AuthError, refused } from './errors.ts'
import { show } from './show.ts'

/** Accepts a token only for the app that it was issued for, and not for other apps that share the secret. */
export function checkAppBinding(
  { app_code, app_id }: Record<string, unknown>,
  expected: { readonly appCode: string; readonly appId: string | undefined },
): void {
  if (app_code !== expected.appCode || !app_id || typeof app_id !== 'string' || app_id !== (expected.appId ?? app_id))
    throw mismatch(app_code, app_id, expected)
}

function mismatch(
  code: unknown,
  id: unknown,
  { appCode, appId }: { readonly appCode: string; readonly appId: string | undefined },
): AuthError {
  const wanted = appId === undefined ? 'some app_id' : `app_id ${show(appId)} (SERVICE_APP_ID or the feed)`
  return refused('APP_MISMATCH', `expected app_code ${show(appCode)} and ${wanted}, got ${show(code)} and ${show(id)}`)
}
