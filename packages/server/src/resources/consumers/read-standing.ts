import type { Keyring } from '../../lib/keyrings.ts'
import type { Catalog } from '../catalog/read-catalog.ts'

/** Returns a text that changes when another app, or none, has the code, and when the keys of the app change. */
export async function readStanding(catalog: Catalog, appCode: string): Promise<string> {
  const app = await catalog.findApp({ code: appCode })
  const keyrings = await catalog.getKeyrings()
  return `${app?.id} ${kidsOf(() => keyrings.ofCode(() => appCode))}`
}

/** A key that cannot be opened has no id. No consumer is authenticated with it. */
function kidsOf(keyring: () => Keyring): string {
  try {
    return keyring()
      .map(({ id }) => id)
      .join()
  } catch {
    return ''
  }
}
