import type { ServiceTokenOptions, ServiceTokens } from './hold-service-tokens.ts'

/**
 * Tokens with which this backend calls others for itself, not for a user. What is missing or wrong in the configuration, the first use
 * says: it rejects with `CONFIG_INVALID`, naming every variable.
 */
export function createServiceTokens(options?: ServiceTokenOptions): ServiceTokens {
  // Most backends never call another.
  const loaded = import('./service-api.ts').then((module) => module.holdServiceTokens(options))
  loaded.catch(() => {})
  return {
    get: async (appCode) => (await loaded).get(appCode),
    fetch: async (...request) => (await loaded).fetch(...request),
  }
}
