import { type Connection, normalizeBaseUrl } from '../command-line/settings.ts'

/** Which service a screen is of: `in production (https://auth.example.com)`. */
export function servicePlace({ context, contextName, baseUrl }: Connection): string {
  const isOfContext = context !== undefined && normalizeBaseUrl(context.base_url) === baseUrl
  return isOfContext ? `in ${contextName} (${baseUrl})` : `at ${baseUrl}`
}
