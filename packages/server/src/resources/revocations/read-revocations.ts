import type { Deps } from '../../deps.ts'
import type { FeedForm } from '../../lib/caller.ts'
import { Revocation, type RevocationRow, revocationFeed } from '../../models/revocation.ts'
import { type FeedPage, readFeed } from '../feeds/read-feed.ts'

/** How far local validators look back. Longer than any access token lives, so older revocations concern no live token. */
export const revocationKeepMs = 3_660_000

/** The revocations after a cursor for the consumers of an app; all live ones without a cursor. */
export async function readRevocations(
  deps: Deps,
  input: { appId: string; since: number | undefined; limit: number; form: FeedForm },
): Promise<FeedPage<RevocationRow>> {
  const { appId, since, limit, form } = input
  const narrow = Revocation.ofApp(appId, { since: deps.clock() - revocationKeepMs, usersOnly: form === 1 })
  return readFeed(deps, revocationFeed, { since, limit, narrow })
}
