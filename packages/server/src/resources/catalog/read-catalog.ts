import type { Deps } from '../../deps.ts'
import { deepFreeze } from '../../lib/deep-freeze.ts'
import type { Keyrings } from '../../lib/keyrings.ts'
import { App } from '../../models/app.ts'
import { Generation } from '../../models/generation.ts'
import { Service } from '../../models/service.ts'
import { listTokenPermissions } from './list-token-permissions.ts'
import { readKeyrings } from './read-keyrings.ts'
import { readSigningKeys, type SigningKeys } from './read-signing-keys.ts'

/** Settings of apps and permissions of roles, kept in memory once they are read. Its objects are frozen. */
export interface Catalog {
  findApp(by: { id: string } | { code: string }): Promise<App | undefined>
  /** Which keys sign for which app. */
  getKeyrings(): Promise<Keyrings>
  /** The keys of ID tokens. Empty until `getSigningKeys` makes the first ones. */
  getSigningKeys(): Promise<SigningKeys>
  /** The lowest `iat` that is accepted in any token, in seconds. */
  getMinIat(): Promise<number>
  /** The permissions of an access token with these roles, for an app or for none. */
  listTokenPermissions(appId: string | null, roles: readonly string[]): Promise<readonly string[]>
}

/**
 * Returns the current catalog. Every change renews its generation in the same transaction (`renewCatalog`), so what was read
 * under the current generation is as fresh as a query on every server. Servers need not notify each other.
 */
export async function readCatalog(deps: Deps, generation?: string): Promise<Catalog> {
  const kept = deps.catalogCache.at(generation ?? (await Generation.ofCatalog(deps.db)))
  const remember = async <T>(key: string, read: () => Promise<T>): Promise<T> => {
    if (kept.has(key)) return kept.get(key) as T
    const value = await read()
    if (value !== undefined) kept.set(key, value)
    return value
  }
  const findApp: Catalog['findApp'] = (by) =>
    remember('id' in by ? `app ${by.id}` : `app of code ${by.code}`, async () => deepFreeze(await App.find(deps.db, by)))
  return {
    findApp,
    getKeyrings: () => remember('keyrings', () => readKeyrings(deps)),
    getSigningKeys: () => remember('signing keys', () => readSigningKeys(deps)),
    getMinIat: () => remember('min_iat', () => Service.getMinIat(deps.db)),
    listTokenPermissions: (appId, roles) =>
      remember(`permissions ${JSON.stringify([appId, ...roles])}`, async () => {
        const app = appId === null ? null : ((await findApp({ id: appId })) ?? null)
        return Object.freeze(await listTokenPermissions(deps, app, roles))
      }),
  }
}
