import { refused } from './errors.ts'

/** Accepts a token only for the app that it was issued for, and not for other apps that share the secret. */
export function checkAppBinding(
  { app_code, app_id }: Record<string, unknown>,
  expected: { readonly appCode: string; readonly appId: string | undefined },
): void {
  if (app_code !== expected.appCode || !app_id || typeof app_id !== 'string' || app_id !== (expected.appId ?? app_id))
    throw refused('APP_MISMATCH', 'SERVICE_APP_ID')
}
