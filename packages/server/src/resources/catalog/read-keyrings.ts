import type { Deps } from '../../deps.ts'
import { type Keyring, Keyrings, signingKeyOf } from '../../lib/keyrings.ts'
import { AppKey, type AppKeysOfApp } from '../../models/app-key.ts'
import { revocationKeepMs } from '../revocations/read-revocations.ts'

/** The context that binds a sealed secret of an app. */
export function appSecretContext(appId: string, version: number): string {
  return `app_keys ${appId} ${version}`
}

/** The keys of every app. Deleted apps keep theirs for a while, so that their consumers still learn that the tokens are dead. */
export async function readKeyrings(deps: Deps): Promise<Keyrings> {
  const apps = await AppKey.listAll(deps.db, deps.clock() - revocationKeepMs)
  return new Keyrings(
    deps.sharedKeys,
    apps.map((app) => {
      let keyring: Keyring | undefined
      return { ...app, keyring: () => (keyring ??= keyringOf(deps, app)) }
    }),
  )
}

const order = { current: 0, next: 1, previous: 2 }

/** While an app has only a next key, the shared secret signs. */
function keyringOf(deps: Deps, { appId, keys }: Omit<AppKeysOfApp, 'code'>): Keyring {
  const staged = keys.toSorted((a, b) => order[a.stage] - order[b.stage])
  const [first, ...others] = staged.flatMap(({ version, secret_box }) =>
    secret_box === null ? deps.sharedKeys : [signingKeyOf(deps.secretBox.open(secret_box, appSecretContext(appId, version)))],
  )
  const isShared = !keys.some(({ stage }) => stage === 'current')
  if (isShared || !first) return [...deps.sharedKeys, ...(first ? [first] : []), ...others]
  return [first, ...others]
}
