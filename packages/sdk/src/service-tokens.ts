import type { ServiceTokenOptions, ServiceTokens } from './hold-service-tokens.ts'

/**
 * Creates machine tokens with which this backend calls others for itself, not for a user. It does not throw: if the configuration
 * is wrong, each use rejects with `CONFIG_INVALID`, naming every variable that is missing or wrong.
 *
 * @example
 * ```ts
 * import { createServiceTokens } from '@gatehouse/sdk'
 *
 * const tokens = createServiceTokens()
 * const response = await tokens.fetch('stock', 'https://stock.example.com/parts')
 * ```
 */
export function createServiceTokens(options?: ServiceTokenOptions): ServiceTokens {
  // Loaded here, since most backends never call another.
  const loaded = import('./service-api.ts').then((module) => module.holdServiceTokens(options))
  loaded.catch(() => {})
  return {
    get: async (appCode) => (await loaded).get(appCode),
    fetch: async (...request) => (await loaded).fetch(...request),
  }
}
