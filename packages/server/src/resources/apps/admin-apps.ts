import type { App } from '../../models/app.ts'

/** An app that administers the service. With `*` every app may, so only `authctl` counts. */
export function isAdminApp(
  { adminAppCodes: codes }: { adminAppCodes: readonly string[] },
  app: Pick<App, 'built_in' | 'code'>,
): boolean {
  return codes.includes('*') ? app.built_in : codes.includes(app.code)
}
