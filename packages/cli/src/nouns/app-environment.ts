import type { components } from '@gatehouse/sdk/admin'

/** What stands in for the signing secret, which no API gives away. It is too short to be taken for one. */
const secretPlaceholder = 'replace-me'

export const secretHint =
  'JWT_ACCESS_SECRET is a placeholder: take it from the secret store that the service itself reads its JWT_ACCESS_SECRET from'

/** What a consumer of an app reads from its environment. */
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
