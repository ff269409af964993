import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { id, MAX_TRUST_DAYS, page, timestamp } from '../../lib/fields.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import type { ShownFactor } from '../../lib/proof.ts'
import { hashOpaqueToken, newOpaqueToken, TOKEN_PREFIXES } from '../../lib/random.ts'
import { present } from '../../lib/records.ts'
import { newId } from '../../lib/uuid.ts'
import type { App } from '../../models/app.ts'
import { withPage } from '../../models/list-query.ts'
import { type KeptTrust, TrustedBrowser } from '../../models/trusted-browser.ts'
import { recordEvent } from '../audit/record-event.ts'
import { getUser, lockUserRow } from '../users/users.ts'

const trustedBrowserRecord = z
  .object({
    id,
    ip: z.string().nullable(),
    user_agent: z.string().nullable(),
    proven_at: timestamp.meta({ description: 'When the second factor was shown there. The days of each app count from here' }),
    expires_at: timestamp.meta({ description: 'When no app can trust it any more' }),
  })
  .meta({ id: 'TrustedBrowser' })

export const trustedBrowserPage = page(trustedBrowserRecord)

const dayMs = 86_400_000

/**
 * Whether an app still accepts a second factor that was shown then. It must be newer than the date from which the app demands one.
 */
export function isTrustedAt(
  app: Pick<App, 'trust_device_days' | 'require_two_factor' | 'require_two_factor_from'>,
  provenAt: number,
  now: number,
): boolean {
  const { require_two_factor: whose, require_two_factor_from: from } = app
  const demandedSince = whose !== 'off' && from !== null && from <= now ? from : 0
  return now - provenAt < app.trust_device_days * dayMs && provenAt >= demandedSince
}

/** The trust that a browser has at an app. Undefined if the person has to show the second factor. */
export async function findTrust(deps: Deps, secret: string | undefined, app: App): Promise<KeptTrust | undefined> {
  if (secret === undefined || app.trust_device_days === 0) return undefined
  const now = deps.clock()
  const found = await TrustedBrowser.findLive(deps.db, hashOpaqueToken(secret), now)
  return found && isTrustedAt(app, found.proven_at, now) ? found : undefined
}

/** Trusts the browser in which a second factor was just shown. Returns the secret for its cookie, and how long it is of use. */
export async function trustBrowser(
  deps: Deps<Tx>,
  { userId, version, second, before }: { userId: string; version: number; second: ShownFactor; before: string | undefined },
  actor: Actor,
): Promise<{ value: string; seconds: number }> {
  const secret = newOpaqueToken(TOKEN_PREFIXES.trustedBrowser)
  const id = newId(deps.clock())
  if (before !== undefined)
    await TrustedBrowser.query(deps.db)
      .where({ hash: hashOpaqueToken(before) })
      .delete()
  await TrustedBrowser.insert(deps.db, {
    id,
    hash: hashOpaqueToken(secret),
    user_id: userId,
    version,
    factor_activated_at: second.activatedAt ?? 0,
    proven_at: second.provenAt,
    expires_at: second.provenAt + MAX_TRUST_DAYS * dayMs,
    ip: actor.origin.ip || null,
    user_agent: actor.origin.userAgent,
  })
  await recordEvent(deps, { event: 'browser.trusted', actor, userId, details: { id } })
  return { value: secret, seconds: MAX_TRUST_DAYS * 86_400 }
}

/** The browsers of a user that are trusted, newest first. Throws `not_found`. */
export async function listTrustedBrowsers(
  deps: Deps,
  userId: string,
  request: PageRequest,
): Promise<Page<z.output<typeof trustedBrowserRecord>>> {
  const user = await getUser(deps, userId)
  const live = TrustedBrowser.query(deps.db).where({ user_id: user.id }).where('expires_at', '>', deps.clock())
  const { items, nextCursor } = await withPage(live, request, 'trusted_browsers.id')
  return { items: items.map((browser) => present(trustedBrowserRecord, browser)), nextCursor }
}

/** Asks for the second factor in a browser again. Sessions go on. Throws `not_found`. */
export async function revokeTrust(
  deps: Deps<Pool>,
  { userId, browserId }: { userId: string; browserId: string },
  actor: Actor,
): Promise<void> {
  await transaction(deps, async (deps) => {
    await lockUserRow(deps, userId)
    const revoked = await TrustedBrowser.remove(deps.db, { id: browserId, user_id: userId })
    if (revoked === 0) throw new ApiError('not_found', { detail: 'The user has no such trusted browser' })
    await recordEvent(deps, { event: 'browser.untrusted', actor, userId, details: { id: browserId } })
  })
}
