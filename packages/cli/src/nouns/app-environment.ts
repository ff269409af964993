import type { components } from '@gatehouse/sdk/admin'

/** Stands in for the signing secret, which no API returns. It is too short to pass as a secret. */
export const secretPlaceholder = 'replace-me'

export const secretHint =
  'JWT_ACCESS_SECRET is a placeholder: take it from the secret store where the service reads its own JWT_ACCESS_SECRET'

/** The environment variables that a consumer of an app reads. */
export function variablesOf(
  app: Pick<components['schemas']['App'], 'id' | 'code'>,
  baseUrl: string,
  secret = secretPlaceholder,
): Record<string, string> {
  return {
    SERVICE_AUTH_URL: baseUrl,
    SERVICE_APP_CODE: app.code,
    SERVICE_APP_ID: app.id,
    JWT_ACCESS_SECRET: secret,
  }
}
